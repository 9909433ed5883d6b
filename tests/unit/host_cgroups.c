/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording goes on for days, and cgroups come and go: what is told of those that come late is
 * what was told of the first.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/host/cgroup.h"
#include "lib/host/proc.h"
#include "lib/host/sample.h"
#include "tests/tap.h"

#define MANY 200 /* more than are looked at at one time */

static unsigned throttle_places, memory_places;

static int on_sample(void *ctx, const struct record *r)
{
	(void)ctx;
	if (REC_HAS(r, SAMPLE, process) && REC_HAS(r, SAMPLE, cgroup)) {
		throttle_places += r->u.SAMPLE.metric == METRIC_CGROUP_PERIODS;
		memory_places += r->u.SAMPLE.metric == METRIC_CGROUP_MEM_USED;
	}
	return 0;
}

/* A process in a cgroup of its own in each tree that there is. */
static pid_t start(char *const folders[2], unsigned nfolders)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	for (unsigned i = 0; i < nfolders; i++) {
		char *path;
		FILE *f;

		if (asprintf(&path, "%s/cgroup.procs", folders[i]) < 0)
			abort();
		f = fopen(path, "w");
		if (f) {
			fprintf(f, "%d", (int)pid);
			fclose(f);
		}
		free(path);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Folders of one cgroup, in the trees where CPU time and memory are counted; how many. */
static unsigned make(const struct host_cgroup_trees *t, unsigned number, char *folders[2])
{
	const char *const mounts[2] = { t->cpu_v1.mount, t->memory_v1.mount };
	unsigned n = 0;

	for (unsigned i = 0; i < 2; i++) {
		const char *mount = *mounts[i] ? mounts[i] : i == 0 ? t->unified.mount : "";

		if (!*mount)
			continue;
		if (asprintf(&folders[n], "%s/ingero-unit-%d-%u", mount, (int)getpid(), number) < 0)
			abort();
		if (mkdir(folders[n], 0755) == 0)
			n++;
		else
			free(folders[n]);
	}
	return n;
}

static void unmake(char *folders[2], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		while (rmdir(folders[i]) && errno == EBUSY)
			sched_yield(); /* it is being emptied */
		free(folders[i]);
	}
}

int main(void)
{
	struct host_cgroup_trees trees;
	struct world *w = world_new();
	struct host_sampler *s = NULL;
	char *folders[2];
	struct err e = { 0 };
	unsigned first[2] = { 0, 0 };
	unsigned n;
	int64_t now = 0;

	n = w && host_cgroup_mounts(&trees, &e) == 0 ? make(&trees, 0, folders) : 0;
	unmake(folders, n);
	if (n == 0) {
		skip("optional: no cgroups can be made here");
		return done_testing();
	}
	is_int(host_sampler_new(&s, w, 1, &e), 0, "a sampler");
	for (unsigned i = 0; i < MANY; i++) {
		struct host_target target = { .process = 1 };
		pid_t pid;

		n = make(&trees, i, folders);
		pid = start(folders, n);
		target.tgid = (uint32_t)pid;
		throttle_places = memory_places = 0;
		now += 1000;
		if (host_sampler_tick(s, now, &target, 1, on_sample, NULL))
			break;
		if (i == 0) {
			first[0] = throttle_places;
			first[1] = memory_places;
			throttle_places = memory_places = 0;
			now += 1000;
			host_sampler_tick(s, now, &target, 1, on_sample, NULL);
			is_u64(throttle_places + memory_places, 0, "they are told once");
			host_sampler_again(s);
			now += 1000;
			host_sampler_tick(s, now, &target, 1, on_sample, NULL);
			ok(throttle_places == first[0] && memory_places == first[1],
			   "and once more where another recording begins");
		}
		end(pid);
		unmake(folders, n);
	}
	ok(first[0] + first[1] > 0, "limits above the first process are told");
	is_u64(throttle_places, first[0], "and above the last of many: quotas");
	is_u64(memory_places, first[1], "and memory");
	host_sampler_free(s);
	world_free(w);
	return done_testing();
}
