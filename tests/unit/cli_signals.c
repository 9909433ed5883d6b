/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts, each tried in a child process: the first is remembered, the second ends; readers of
 * pipes let the first one pass; what a launched command inherits.
 */
#include "lib/cli/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/cli/output.h"
#include "tests/tap.h"

/* Run body in a child; its wait status. */
static int in_child(void (*body)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		body();
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

static void first(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct pollfd p;
	int i;

	for (i = 0; i < 3; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			if (cli_signals_catch(NULL) < 0 || cli_signal_received())
				_exit(1);
			p = (struct pollfd){ .fd = cli_signals_fd(), .events = POLLIN };
			if (poll(&p, 1, 0) != 0)
				_exit(2);
			raise(numbers[i]);
			if (cli_signal_received() != numbers[i])
				_exit(3);
			if (poll(&p, 1, 0) != 1 || poll(&p, 1, 0) != 1)
				_exit(4);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (status)
			_exit(WEXITSTATUS(status) + 10 * i);
	}
}

static void second(void)
{
	cli_signals_catch(NULL);
	raise(SIGINT);
	raise(SIGTERM);
}

/* Sent to a group: to this process, and late once more by way of the parent that is in it, too.
 * Returns what it came to: 7, or as it ends at once. more: another one behind both. */
static int passed_on(bool more)
{
	/* Longer than one and the same may take to come twice. */
	const struct timespec late = { .tv_nsec = 300000000 };
	int ready[2], sent[2], status = -1;
	char byte = 0;
	pid_t pid;

	if (pipe(ready) < 0 || pipe(sent) < 0)
		return -1;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		cli_signals_catch(NULL);
		kill(getpid(), SIGINT);
		nanosleep(&late, NULL);
		if (write(ready[1], "", 1) != 1 || read(sent[0], &byte, 1) != 1)
			_exit(1);
		if (more)
			kill(getpid(), SIGINT);
		_exit(7);
	}
	if (read(ready[0], &byte, 1) == 1) {
		kill(pid, SIGINT);
		if (write(sent[1], "", 1) != 1)
			kill(pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void nohup(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGHUP, &ignore, NULL);
	cli_signals_catch(NULL);
	raise(SIGHUP);
	if (cli_signal_received())
		_exit(1);
}

static void pipe_first(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		_exit(9);
	cli_signals_let_first_pass(fds[0]);
	raise(SIGINT);
	_exit(7);
}

/* Ctrl-C while the program was being started, with the signal blocked for that long. */
static void pipe_early(void)
{
	sigset_t interrupt;
	int fds[2];

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	raise(SIGINT);
	if (pipe(fds) < 0)
		_exit(9);
	cli_signals_let_first_pass(fds[0]);
	sigpending(&interrupt);
	_exit(sigismember(&interrupt, SIGINT) ? 8 : 7);
}

static void pipe_second(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		_exit(9);
	cli_signals_let_first_pass(fds[0]);
	raise(SIGINT);
	raise(SIGINT);
}

static void no_pipe(void)
{
	cli_signals_let_first_pass(open("/dev/null", O_RDONLY));
	raise(SIGINT);
}

static void broken_pipe(void)
{
	int fds[2];

	cli_start();
	if (pipe(fds) < 0 || close(fds[0]) < 0 || write(fds[1], "x", 1) != -1)
		_exit(1);
	cli_signals_restore();
	if (write(fds[1], "x", 1) == -1)
		_exit(2);
}

static void closed(void)
{
	int next = open("/dev/null", O_RDONLY); /* what came open from our parent stays */

	close(next);
	close(0);
	close(1);
	close(2);
	cli_start();
	if (fcntl(0, F_GETFD) < 0 || fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0)
		_exit(1);
	if (open("/dev/null", O_RDONLY) != next)
		_exit(2);
}

int main(void)
{
	int status;

	/* Whoever runs this may ignore signals, as nohup and background jobs of a shell do. */
	cli_signals_restore();
	is_int(in_child(first), 0, "each first signal is remembered and readable");
	status = in_child(second);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM, "the second ends at once");
	is_int(passed_on(false), 7, "one that the parent passes on late is the first");
	is_int(passed_on(true), 128 + SIGINT, "and the next one is the second");
	is_int(in_child(nohup), 0, "a hangup ignored by the parent stays ignored");
	status = in_child(pipe_first);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7,
	   "a reader of a pipe survives the first interrupt");
	status = in_child(pipe_early);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7,
	   "one that came while it was being started, too");
	status = in_child(pipe_second);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT, "not the second");
	status = in_child(no_pipe);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT,
	   "a reader of a file does not ignore it");
	status = in_child(broken_pipe);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE,
	   "SIGPIPE is off here and on in commands");
	is_int(in_child(closed), 0, "descriptors closed by the parent are opened, and no other");
	return tap_done();
}
