/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question that a forked child answers: what it changes stays its own, it holds no connection of
 * the server's, and it is gone when it answered, failed, crashed, or nobody asks any more.
 */
#include "lib/store/source_child.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

#define ANSWER_BYTES (1 << 20) /* far more than a pipe holds */

static int counter;

static unsigned count_open(bool sockets)
{
	struct stat st;
	unsigned n = 0;

	for (int fd = 3; fd < 1024; fd++)
		n += !fstat(fd, &st) && (!sockets || S_ISSOCK(st.st_mode));
	return n;
}

static bool answers(void *ctx, struct buf *found)
{
	counter++;
	for (int i = 0; i < ANSWER_BYTES / 4; i++)
		buf_puts(found, "abcd");
	return ctx == &counter;
}

static bool counts_sockets(void *ctx, struct buf *found)
{
	(void)ctx;
	buf_printf(found, "%u", count_open(true));
	return true;
}

static bool cannot(void *ctx, struct buf *found)
{
	(void)ctx;
	buf_puts(found, "half");
	return false;
}

static bool crashes(void *ctx, struct buf *found)
{
	buf_puts(found, "half");
	kill(getpid(), SIGKILL);
	return ctx != NULL;
}

static bool never_ends(void *ctx, struct buf *found)
{
	(void)found;
	while (!ctx)
		pause();
	return false;
}

static bool stops_at_once(const struct request_ctx *a)
{
	(void)a;
	return true;
}

static bool no_child_left(void)
{
	return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static void expect_gone(source_child_fn *find, const struct request_ctx *rctx, const char *what)
{
	struct buf found = { 0 };

	ok(!source_run_child(find, NULL, rctx, &found), "%s: no answer", what);
	ok(no_child_left(), "%s: no child, and no zombie", what);
	buf_free(&found);
}

int main(void)
{
	struct request_ctx gives_up = { .should_stop = stops_at_once };
	struct buf found = { 0 };
	sigset_t before, after;
	unsigned open;
	int pair[2];

	sigemptyset(&before);
	sigaddset(&before, SIGUSR1);
	sigprocmask(SIG_SETMASK, &before, NULL);
	open = count_open(false);
	ok(source_run_child(answers, &counter, NULL, &found), "an answer");
	is_u64(found.n, ANSWER_BYTES, "whole");
	is_int(counter, 0, "what the child changed stays its own");
	ok(no_child_left(), "it is gone, and no zombie");

	ok(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "a connection");
	buf_reset(&found);
	ok(source_run_child(counts_sockets, NULL, NULL, &found), "an answer");
	is_str(buf_text(&found), "0", "the child holds no connection open");
	ok(write(pair[0], "x", 1) == 1, "which is open here");
	close(pair[0]);
	close(pair[1]);

	expect_gone(cannot, NULL, "one that cannot");
	expect_gone(crashes, NULL, "one that is killed");
	expect_gone(never_ends, &gives_up, "one that never ends, when nobody asks any more");
	is_u64(count_open(false), open, "no descriptor is left");
	sigprocmask(SIG_SETMASK, NULL, &after);
	ok(sigismember(&after, SIGUSR1) == 1 && !sigismember(&after, SIGTERM),
	   "signals are blocked as they were");
	buf_free(&found);
	return tap_done();
}
