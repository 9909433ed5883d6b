/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a query in a forked copy of the process and reads its answer from a pipe. In the child no
 * signal handler of the server runs, and none of its data is freed; it is killed when it takes too
 * long, when the client has gone, and with this process.
 */
#include "lib/store/source_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/capabilities.h"
#include "lib/base/io.h"
#include "lib/base/oom_flag.h"
#include "lib/store/answer_cache.h"

#define LOOK_MS	      50
#define CHILD_NS      INT64_C(60000000000) /* it takes some ten milliseconds */
#define SOCKETS_BELOW 65536 /* descriptors that are looked at; a server has some hundred */

/* A connection that the server closes must end, though a child has a copy of it; files may still be
 * read. */
static void close_sockets(int kept)
{
	struct rlimit limit;
	struct stat st;
	int end = getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > SOCKETS_BELOW
			  ? SOCKETS_BELOW
			  : (int)limit.rlim_cur;

	for (int fd = STDERR_FILENO + 1; fd < end; fd++)
		if (fd != kept && !fstat(fd, &st) && S_ISSOCK(st.st_mode))
			close(fd);
}

static void run_child(source_child_fn *find, void *ctx, int fd, pid_t parent)
{
	struct buf found = { 0 };
	struct err e;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	/* The thread that made it waits for it, so that it ends with the process only. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	close_sockets(fd);
	(void)capabilities_keep(CAPABILITIES_READING);
	if (!find(ctx, &found))
		_exit(1);
	_exit(found.failed || oom_flag_is_set() || write_all(fd, found.p, found.n, &e));
}

/* Reads the answer to its end; false: the client has gone, or it takes too long. */
static bool read_answer(int fd, const struct request_ctx *rctx, struct buf *text)
{
	int64_t until = answer_cache_now_ns() + CHILD_NS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char block[65536];

	while (answer_cache_now_ns() < until && !request_ctx_should_stop(rctx)) {
		ssize_t n = poll(&p, 1, LOOK_MS) > 0 ? read(fd, block, sizeof(block)) : -1;

		if (n == 0)
			return !text->failed;
		if (n > 0)
			buf_add(text, block, (size_t)n);
	}
	return false;
}

bool source_run_child(source_child_fn *find, void *ctx, const struct request_ctx *rctx,
		      struct buf *found)
{
	sigset_t all, before;
	int fds[2], status = 0;
	bool whole;
	pid_t pid, self = getpid();

	if (pipe2(fds, O_CLOEXEC))
		return false;
	/* No handler of ours may run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		run_child(find, ctx, fds[1], self);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(fds[1]);
	whole = pid > 0 && read_answer(fds[0], rctx, found);
	close(fds[0]);
	if (pid > 0) {
		if (!whole)
			kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return whole && WIFEXITED(status) && !WEXITSTATUS(status);
}
