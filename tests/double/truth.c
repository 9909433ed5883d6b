/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The double's own record of what was called, written as one JSON line per process to $DOUBLE_LOG
 * at exit. A forked child counts from zero; a process that leaves by _exit or a signal writes
 * nothing.
 */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct counter *counters;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(struct counter *c)
{
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
		if (!c)
			abort();
		snprintf(c->name, sizeof c->name, "%s", name);
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

static void after_fork_child(void)
{
	for (struct counter *c = counters; c; c = c->next) {
		atomic_store(&c->count, 0);
		atomic_store(&c->errors, 0);
		atomic_store(&c->total_ns, 0);
	}
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
	char *text = NULL, comm[32] = "";
	size_t n = 0;
	FILE *f;
	int fd;

	if (!path || !(f = open_memstream(&text, &n)))
		return;
	fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t got = read(fd, comm, sizeof comm - 1);

		comm[got > 0 ? got - 1 : 0] = 0;
		close(fd);
	}
	fprintf(f, "{\"pid\":%d,\"comm\":\"%s\",\"ops\":{", getpid(), comm);
	for (struct counter *c = counters, *first = NULL; c; c = c->next) {
		if (!atomic_load(&c->count))
			continue;
		fprintf(f, "%s\"%s\":{\"count\":%llu,\"errors\":%llu,\"total_ns\":%llu}",
			first ? "," : "", c->name, (unsigned long long)atomic_load(&c->count),
			(unsigned long long)atomic_load(&c->errors),
			(unsigned long long)atomic_load(&c->total_ns));
		first = c;
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
