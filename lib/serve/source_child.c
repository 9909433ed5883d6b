/* SPDX-License-Identifier: Apache-2.0 */
/* It is alone in its copy: no handler of ours runs there, and nothing of ours is closed or freed. */
#include "lib/serve/source_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/io.h"
#include "lib/base/nomem.h"
#include "lib/serve/held.h"

#define LOOK_MS	 50
#define CHILD_NS INT64_C(60000000000) /* it takes some ten milliseconds */

static void child(source_child_fn *find, void *ctx, int fd)
{
	struct buf found = { 0 };
	struct err e;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	if (!find(ctx, &found))
		_exit(1);
	_exit(found.failed || nomem_seen() || write_all(fd, found.p, found.n, &e));
}

/* Until it has said all, somebody gives up, or it takes too long: false. */
static bool hear(int fd, const struct serve_asker *asker, struct buf *text)
{
	int64_t until = held_now_ns() + CHILD_NS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char block[65536];

	while (held_now_ns() < until && !serve_asker_stops(asker)) {
		ssize_t n = poll(&p, 1, LOOK_MS) > 0 ? read(fd, block, sizeof(block)) : -1;

		if (n == 0)
			return !text->failed;
		if (n > 0)
			buf_add(text, block, (size_t)n);
	}
	return false;
}

bool source_child(source_child_fn *find, void *ctx, const struct serve_asker *asker,
		  struct buf *found)
{
	sigset_t all, before;
	int fds[2], status = 0;
	bool whole;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	/* No handler of ours may run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		child(find, ctx, fds[1]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(fds[1]);
	whole = pid > 0 && hear(fds[0], asker, found);
	close(fds[0]);
	if (pid > 0) {
		if (!whole)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return whole && WIFEXITED(status) && !WEXITSTATUS(status);
}
