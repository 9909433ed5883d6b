/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples one process and its threads from their open /proc files. The list of threads is read
 * again only when their number changed or one of them could not be read.
 */
#include "lib/host/sample_target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/base/vec.h"
#include "lib/host/proc.h"
#include "lib/host/reread.h"
#include "lib/host/sample_memory.h"
#include "lib/host/text.h"

struct thread {
	uint32_t tid;
	int fd; /* -1: opened for each look */
	uint64_t wait_ns;
	bool seen;
};

struct host_watch {
	uint32_t tgid;
	int statm, cgroup, stat, io;
	DIR *tasks;
	clockid_t clock;
	bool has_clock, stale;
	nlink_t nthreads;
	uint32_t looks;
	uint64_t place; /* hash of what the cgroup file says */
	uint64_t wait_ns;
	uint64_t page_bytes;
	VEC(struct thread) threads;
};

static int open_of(uint32_t tgid, const char *file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", tgid, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct host_watch *host_watch_new(uint32_t tgid)
{
	struct host_watch *w = calloc(1, sizeof(*w));
	unsigned none = 0;
	int tasks;

	if (!w)
		return NULL;
	w->tgid = tgid;
	w->statm = open_of(tgid, "statm");
	w->cgroup = open_of(tgid, "cgroup");
	w->stat = open_of(tgid, "stat");
	w->io = open_of(tgid, "io");
	tasks = open_of(tgid, "task");
	w->tasks = tasks >= 0 ? fdopendir(tasks) : NULL;
	if (!w->tasks && tasks >= 0)
		close(tasks);
	w->has_clock = clock_getcpuclockid((pid_t)tgid, &w->clock) == 0;
	w->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	w->stale = true;
	if (w->statm < 0 || !w->tasks) {
		host_watch_free(w, &none);
		return NULL;
	}
	return w;
}

static void drop_thread(struct host_watch *w, size_t i, unsigned *files)
{
	if (w->threads.v[i].fd >= 0) {
		close(w->threads.v[i].fd);
		(*files)++;
	}
	w->threads.v[i] = w->threads.v[--w->threads.n];
}

void host_watch_free(struct host_watch *w, unsigned *files)
{
	if (!w)
		return;
	while (w->threads.n)
		drop_thread(w, w->threads.n - 1, files);
	vec_free(&w->threads);
	if (w->tasks)
		closedir(w->tasks);
	if (w->cgroup >= 0)
		close(w->cgroup);
	if (w->statm >= 0)
		close(w->statm);
	if (w->stat >= 0)
		close(w->stat);
	if (w->io >= 0)
		close(w->io);
	free(w);
}

static int open_thread(const struct host_watch *w, uint32_t tid)
{
	char path[40];

	snprintf(path, sizeof(path), "%" PRIu32 "/schedstat", tid);
	return openat(dirfd(w->tasks), path, O_RDONLY | O_CLOEXEC);
}

/* Threads that came are added, those that went are forgotten. */
static void list_threads(struct host_watch *w, unsigned *files)
{
	struct dirent *entry;

	for (size_t i = 0; i < w->threads.n; i++)
		w->threads.v[i].seen = false;
	rewinddir(w->tasks);
	while ((entry = readdir(w->tasks)) != NULL) {
		const char *p = entry->d_name;
		struct thread t = { .fd = -1, .seen = true };
		uint64_t tid;
		size_t i;

		if (!host_text_number(&p, p + strlen(p), &tid))
			continue;
		for (i = 0; i < w->threads.n && w->threads.v[i].tid != tid; i++)
			;
		if (i < w->threads.n) {
			w->threads.v[i].seen = true;
			continue;
		}
		t.tid = (uint32_t)tid;
		if (!vec_reserve(&w->threads, 1))
			break;
		if (*files) {
			t.fd = open_thread(w, t.tid);
			*files -= t.fd >= 0;
		}
		w->threads.v[w->threads.n++] = t;
	}
	for (size_t i = w->threads.n; i-- > 0;)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): n > 0, so v is somewhere */
		if (!w->threads.v[i].seen)
			drop_thread(w, i, files);
}

static bool read_thread(struct host_watch *w, struct thread *t, struct buf *room)
{
	int fd = t->fd >= 0 ? t->fd : open_thread(w, t->tid);
	struct host_schedstat stat;
	bool good = host_reread(fd, room) && host_schedstat_parse(buf_bytes(room), &stat);

	if (fd >= 0 && fd != t->fd)
		close(fd);
	/* A tid used again by the same process starts anew. */
	if (good) {
		w->wait_ns += stat.wait_ns >= t->wait_ns ? stat.wait_ns - t->wait_ns : stat.wait_ns;
		t->wait_ns = stat.wait_ns;
	}
	return good;
}

/* Whether the process has changed its cgroup. Rare, so checked at every eighth reading, staggered
 * by process. */
static bool has_moved(struct host_watch *w, struct buf *room)
{
	uint64_t place;

	if (w->place && (w->looks++ + w->tgid) % 8 != 0)
		return false;
	if (!host_reread(w->cgroup, room))
		return false;
	place = hash_bytes(room->p, room->n, 1) | 1;
	if (place == w->place)
		return false;
	w->place = place;
	return true;
}

bool host_watch_look(struct host_watch *w, struct buf *room, unsigned *files,
		     struct host_watch_now *now)
{
	struct timespec cpu;
	struct stat tasks;
	uint64_t size, resident;
	const char *p;

	*now = (struct host_watch_now){ 0 };
	/* A process that ended but was not waited for has no memory. */
	if (!host_reread(w->statm, room) || (p = room->p) == NULL ||
	    !host_text_number(&p, room->p + room->n, &size) ||
	    !host_text_number(&p, room->p + room->n, &resident) || size == 0 ||
	    fstat(dirfd(w->tasks), &tasks))
		return false;
	now->rss_bytes = resident * w->page_bytes;
	if (w->has_clock && clock_gettime(w->clock, &cpu) == 0) {
		now->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
		now->has_cpu = true;
	}
	now->has_faults =
		host_reread(w->stat, room) &&
		host_faults_parse(buf_bytes(room), &now->minor_faults, &now->major_faults);
	now->has_io = host_reread(w->io, room) &&
		      host_io_parse(buf_bytes(room), &now->read_bytes, &now->write_bytes);
	/* /proc counts the threads in the links of their folder. */
	if (w->stale || tasks.st_nlink != w->nthreads)
		list_threads(w, files);
	w->nthreads = tasks.st_nlink;
	w->stale = false;
	for (size_t i = 0; i < w->threads.n; i++) {
		bool good = read_thread(w, &w->threads.v[i], room);

		now->has_wait |= good;
		w->stale |= !good;
	}
	now->wait_ns = w->wait_ns;
	now->moved = has_moved(w, room);
	return true;
}
