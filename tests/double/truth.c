/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The double's own record of what was called: as one JSON line per process in $DOUBLE_LOG, written
 * at exit (not by _exit or a signal), and as one file per process in the folder $DOUBLE_COUNTS,
 * which is the memory that is counted in and so is complete however the process ends. A forked
 * child counts from zero, in a file of its own.
 */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TALLIES 4096

/* The whole of a counts file. */
static struct sheet {
	char magic[8];
	uint32_t pid, ntallies;
	char comm[112];
	struct tally tallies[TALLIES];
} * sheet;

static struct counter *counters;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void read_comm(char *comm, size_t size)
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, comm, size - 1);

	comm[got > 0 ? got - 1 : 0] = 0;
	if (fd >= 0)
		close(fd);
}

/* A new file in $DOUBLE_COUNTS: PID.0, or the next number where the process had one before it
 * called exec. -1: none wanted, or none possible, which ends no program. */
static int open_file(void)
{
	const char *folder = getenv("DOUBLE_COUNTS");
	char path[512];
	int fd = -1;

	for (int i = 0; folder && fd < 0 && i < 1000; i++) {
		snprintf(path, sizeof path, "%s/%d.%d", folder, getpid(), i);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	if (!folder || (fd >= 0 && ftruncate(fd, sizeof *sheet) == 0))
		return fd;
	fprintf(stderr, "double: cannot write to %s, process %d is not counted there\n", folder,
		getpid());
	if (fd >= 0)
		close(fd);
	return -1;
}

static struct sheet *make_sheet(int fd)
{
	struct sheet *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
			       fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (s == MAP_FAILED)
		abort();
	if (fd >= 0)
		close(fd);
	memcpy(s->magic, "DOUBLE1", sizeof s->magic);
	s->pid = (uint32_t)getpid();
	read_comm(s->comm, sizeof s->comm);
	return s;
}

static void add(struct counter *c)
{
	if (!sheet)
		sheet = make_sheet(open_file());
	if (sheet->ntallies == TALLIES || strlen(c->name) >= sizeof sheet->tallies->name)
		abort();
	c->tally = &sheet->tallies[sheet->ntallies];
	memcpy(c->tally->name, c->name, strlen(c->name));
	sheet->ntallies++;
	c->timed = getenv("DOUBLE_LOG") != NULL;
	plan_read(c);
	c->next = counters;
	counters = c;
}

void truth_register(struct counter *c)
{
	pthread_mutex_lock(&lock);
	add(c);
	pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) struct counter *double_counter(const char *name)
{
	struct counter *c;

	pthread_mutex_lock(&lock);
	for (c = counters; c && strcmp(c->name, name); c = c->next)
		;
	if (!c) {
		c = calloc(1, sizeof *c);
		if (!c || !(c->name = strdup(name)))
			abort();
		add(c);
	}
	pthread_mutex_unlock(&lock);
	return c;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* In the place of the parent's, where the counters point to. */
static void after_fork_child(void)
{
	struct sheet *s = make_sheet(open_file());

	s->ntallies = sheet->ntallies;
	for (uint32_t i = 0; i < s->ntallies; i++)
		memcpy(s->tallies[i].name, sheet->tallies[i].name, sizeof s->tallies[i].name);
	if (mremap(s, sizeof *s, sizeof *s, MREMAP_MAYMOVE | MREMAP_FIXED, sheet) == MAP_FAILED)
		abort();
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void truth_start(void)
{
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* One write() with O_APPEND, so that lines of processes that end together do not mix. */
__attribute__((destructor)) static void truth_write(void)
{
	const char *path = getenv("DOUBLE_LOG");
	char *text = NULL;
	size_t n = 0;
	FILE *f;
	int fd;

	if (sheet)
		read_comm(sheet->comm,
			  sizeof sheet->comm); /* it may have called itself something else */
	if (!path || !sheet || !(f = open_memstream(&text, &n)))
		return;
	fprintf(f, "{\"pid\":%d,\"comm\":\"%s\",\"ops\":{", getpid(), sheet->comm);
	for (uint32_t i = 0, written = 0; i < sheet->ntallies; i++) {
		const struct tally *t = &sheet->tallies[i];

		if (atomic_load(&t->count))
			fprintf(f, "%s\"%s\":{\"count\":%llu,\"errors\":%llu,\"total_ns\":%llu}",
				written++ ? "," : "", t->name,
				(unsigned long long)atomic_load(&t->count),
				(unsigned long long)atomic_load(&t->errors),
				(unsigned long long)atomic_load(&t->total_ns));
	}
	fprintf(f, "}}\n");
	fclose(f);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		fprintf(stderr, "double: cannot write %s\n", path);
	if (fd >= 0)
		close(fd);
	free(text);
}
