/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says about memory, faults and storage, as text; cgroups of a machine are in
 * tests/live/host.t. */
#include "lib/host/sample_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

static void put(const char *folder, const char *name, const char *text)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

static void drop(const char *folder)
{
	static const char *const names[] = { "memory.current",	      "memory.max",
					     "memory.events",	      "memory.events.local",
					     "memory.usage_in_bytes", "memory.limit_in_bytes",
					     "memory.failcnt",	      "memory.oom_control" };
	char path[200];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
}

static struct host_memory_group_now read_in(const char *folder, struct host_memory_group *g)
{
	struct host_memory_group_now now = { 0 };
	struct buf room = { 0 };

	ok(host_memory_group_open(g, folder) && host_memory_group_read(g, &room, &now),
	   "a cgroup is read");
	host_memory_group_close(g);
	buf_free(&room);
	return now;
}

/* Files as kernels have them, of one cgroup above others. */
static void groups(void)
{
	char folder[] = "/tmp/ingero-memory-XXXXXX";
	struct host_memory_group g;
	struct host_memory_group_now now;

	if (!mkdtemp(folder))
		abort();
	ok(!host_memory_group_open(&g, folder), "memory that is not counted");
	put(folder, "memory.current", "4096\n");
	put(folder, "memory.max", "max\n");
	put(folder, "memory.events", "low 0\nhigh 9\nmax 8\noom 2\noom_kill 2\n");
	now = read_in(folder, &g);
	ok(now.used_bytes == 4096 && now.limit_bytes == 0 && now.has_events && now.high == 9 &&
		   now.max == 8 && now.oom_kills == 2,
	   "before Linux 5.2");
	put(folder, "memory.max", "8192\n");
	put(folder, "memory.events.local", "low 0\nhigh 3\nmax 1\noom 1\noom_kill 0\n");
	now = read_in(folder, &g);
	ok(now.limit_bytes == 8192 && now.high == 3 && now.max == 1,
	   "hits of its own limit are not those of the cgroups below");
	is_u64(now.oom_kills, 2, "but who was killed below was killed in it");
	drop(folder);
	put(folder, "memory.usage_in_bytes", "12288\n");
	put(folder, "memory.limit_in_bytes", "9223372036854771712\n");
	put(folder, "memory.failcnt", "5\n");
	put(folder, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	now = read_in(folder, &g);
	ok(g.v1 && now.used_bytes == 12288 && now.limit_bytes == 0 && now.max == 5 &&
		   now.oom_kills == 1 && now.has_kills,
	   "version 1");
	drop(folder);
	rmdir(folder);
}

int main(void)
{
	struct host_vm vm;
	uint64_t a = 0, b = 0;

	ok(host_vm_parse(bytes_of(
				 "nr_free_pages 5\npgalloc_dma 1\npgalloc_normal 40\npgfree 30\n"
				 "allocstall_normal 2\nallocstall_movable 3\ncompact_stall 4\n"
				 "pgmajfault 6\npgmajfault_x 9\npswpin 7\npswpout 8\noom_kill 1\n"),
			 &vm),
	   "vmstat");
	is_u64(vm.allocated, 41, "zones are added up");
	is_u64(vm.alloc_stalls, 5, "also their stalls");
	is_u64(vm.major_faults, 6, "a name is a whole one");
	ok(vm.freed == 30 && vm.compact_stalls == 4 && vm.swap_in == 7 && vm.swap_out == 8 &&
		   vm.oom_kills == 1,
	   "the others");
	ok(!host_vm_parse(bytes_of("nothing here\n"), &vm), "no vmstat");
	ok(host_faults_parse(bytes_of("7 (a) b (c 1 2) S 1 2 3 4 5 6 1000 8 12 10 11\n"), &a, &b) &&
		   a == 1000 && b == 12,
	   "faults behind a name with brackets");
	ok(!host_faults_parse(bytes_of("7 (a) S 1 2 3 4 5 6 1000 8"), &a, &b), "cut off");
	ok(!host_faults_parse((struct bytes){ NULL, 0 }, &a, &b), "nothing");
	ok(host_io_parse(bytes_of("rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\n"), &a,
			 &b) &&
		   a == 4096 && b == 8192,
	   "storage");
	ok(!host_io_parse(bytes_of("rchar: 1\n"), &a, &b), "storage that is not counted");
	groups();
	return done_testing();
}
