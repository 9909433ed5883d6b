/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel waits in the last close of a link until no CPU can be in its program, and it waits
 * uninterruptibly: a process that closes cannot end before. So children have the descriptors too
 * and close last; the caller waits for them as long as it likes. Invariant: a child does nothing
 * but what is safe between fork and exec, for there may be threads.
 */
#include "lib/attach/link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/vec.h"

#define CLOSERS 16 /* waits of so many links pass together */

struct closing {
	int *v; /* ascending */
	size_t n, every;
	int hold[2]; /* its end: the caller has closed its own */
	int done[2]; /* its end: all children have closed theirs */
};

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Both included. A kernel that has no such call (before 5.9) is none that is recorded on. */
static void close_between(int first, int last)
{
	if (first <= last)
		syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0u);
}

/* Closes all descriptors but the links first, first + every, ... and the two pipes' ends: a reader
 * of the recorder's output must not wait for this process. */
static void close_others(const struct closing *c, size_t first)
{
	int from = 0, pipes[2] = { c->hold[0], c->done[1] };
	size_t i = first, p = 0;

	qsort(pipes, 2, sizeof(pipes[0]), by_number);
	while (i < c->n || p < 2) {
		int next = p == 2 || (i < c->n && c->v[i] < pipes[p]) ? c->v[i] : pipes[p];

		if (i < c->n && next == c->v[i])
			i += c->every;
		else
			p++;
		close_between(from, next - 1);
		from = next + 1;
	}
	close_between(from, INT_MAX);
}

static _Noreturn void run_child(const struct closing *c, size_t first)
{
	char nothing;

	setsid();
	close_others(c, first);
	while (read(c->hold[0], &nothing, 1) < 0 && errno == EINTR)
		;
	for (size_t i = first; i < c->n; i += c->every)
		close(c->v[i]);
	_exit(0);
}

/* Waits again after a signal, which does not make the kernel faster. */
static bool wait_until_ended(int fd, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, wait_ms);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

static void close_pair(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* How many of them there are. */
static size_t start_children(const struct closing *c, pid_t pid[CLOSERS])
{
	size_t n = 0;

	for (; n < c->every && (pid[n] = fork()) >= 0; n++)
		if (pid[n] == 0)
			run_child(c, n);
	return n;
}

/* Those that nobody waits for are another's children, who has ended: not ours to be remembered as
 * ended. */
static void start_orphans(const struct closing *c)
{
	pid_t pid[CLOSERS], parent = fork();

	if (parent == 0) {
		start_children(c, pid);
		_exit(0);
	}
	while (parent > 0 && waitpid(parent, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Without children the caller closes, and waits, itself. */
static bool close_all(struct probe_fd_list *fds, int wait_ms)
{
	struct closing c = { fds->v, fds->n, 0, { -1, -1 }, { -1, -1 } };
	pid_t pid[CLOSERS];
	size_t n = 0;
	bool all = true;

	if (fds->n == 0) {
		vec_free(fds); /* there may be room for some */
		return true;
	}
	c.every = fds->n < CLOSERS ? fds->n : CLOSERS;
	qsort(c.v, c.n, sizeof(c.v[0]), by_number);
	if (pipe2(c.hold, O_CLOEXEC) == 0 && pipe2(c.done, O_CLOEXEC) == 0) {
		if (wait_ms > 0)
			n = start_children(&c, pid);
		else
			start_orphans(&c);
	}
	for (size_t i = 0; i < c.n; i++)
		close(c.v[i]);
	close_pair(c.hold);
	if (c.done[1] >= 0)
		close(c.done[1]);
	c.done[1] = -1;
	if (n > 0)
		all = wait_until_ended(c.done[0], wait_ms);
	while (n > 0)
		waitpid(pid[--n], NULL, all ? 0 : WNOHANG);
	close_pair(c.done);
	vec_free(fds);
	return all;
}

bool probe_link_detach(struct probe_fds *fds)
{
	bool entries = close_all(&fds->entries, PROBE_DETACH_MS);

	return close_all(&fds->returns, PROBE_DETACH_MS) && entries;
}

static void disable_events(const struct probe_fd_list *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		ioctl(fds->v[i], PERF_EVENT_IOC_DISABLE,
		      0); /* links among them refuse, which is fine */
}

void probe_link_silence(const struct probe_fds *fds)
{
	disable_events(&fds->entries);
	disable_events(&fds->returns);
}

void probe_link_abandon(struct probe_fds *fds)
{
	close_all(&fds->entries, 0);
	close_all(&fds->returns, 0);
}

static void *close_these(void *p)
{
	struct probe_fds *fds = p;

	for (size_t i = 0; i < fds->entries.n; i++)
		close(fds->entries.v[i]);
	for (size_t i = 0; i < fds->returns.n; i++)
		close(fds->returns.v[i]);
	vec_free(&fds->entries);
	vec_free(&fds->returns);
	free(fds);
	return NULL;
}

void probe_link_close_later(struct probe_fds *fds)
{
	struct probe_fds *mine = malloc(sizeof(*mine));
	pthread_attr_t detached;
	pthread_t thread;
	bool started = false;

	if (fds->entries.n == 0 && fds->returns.n == 0) {
		free(mine);
		return;
	}
	if (mine && pthread_attr_init(&detached) == 0) {
		*mine = *fds;
		pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
		started = pthread_create(&thread, &detached, close_these, mine) == 0;
		pthread_attr_destroy(&detached);
	}
	if (started) {
		*fds = (struct probe_fds){ 0 };
		return;
	}
	free(mine);
	probe_link_abandon(fds);
}

static void move_list(struct probe_fd_list *to, struct probe_fd_list *from)
{
	for (size_t i = 0; i < from->n; i++)
		to->v[to->n++] = from->v[i];
	vec_free(from);
}

bool probe_link_move(struct probe_fds *to, struct probe_fds *from)
{
	if (!vec_reserve(&to->entries, from->entries.n) ||
	    !vec_reserve(&to->returns, from->returns.n))
		return false;
	move_list(&to->entries, &from->entries);
	move_list(&to->returns, &from->returns);
	return true;
}
