/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers do two things only: set a flag and write one byte to a pipe that nobody empties.
 */
#include "lib/cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A signal that a supervisor sends to a process and to its group arrives twice. */
#define SAME_NS 250000000

/* Whichever thread a signal comes to, another one looks. */
static atomic_int received;
static _Atomic int64_t received_ns;
static atomic_bool received_from_parent, received_both;
static int wake[2] = { -1, -1 };

/* Whether it is the one that was received: soon after it, or once more by way of our parent, which
 * is in the group and passes it on, however late that comes to the CPU. */
static bool is_same(int number, int64_t now_ns, bool from_parent)
{
	if (received != number)
		return false;
	if (now_ns - received_ns < SAME_NS)
		return true;
	return from_parent != received_from_parent && !atomic_exchange(&received_both, true);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	bool from_parent = info->si_code == SI_USER && info->si_pid == getppid();
	struct timespec now = { 0 };
	int64_t now_ns;
	int saved = errno;
	ssize_t done;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (is_same(number, now_ns, from_parent)) {
		errno = saved;
		return;
	}
	if (received)
		_exit(128 + number);
	received = number;
	received_ns = now_ns;
	received_from_parent = from_parent;
	done = write(wake[1], "", 1);
	(void)done;
	errno = saved;
}

int cli_signals_catch(struct err *e)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction before;
	size_t i;

	if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(e, "cannot make a pipe");
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		/* nohup: a hangup that our parent ignores stays ignored. */
		if (numbers[i] == SIGHUP && !sigaction(SIGHUP, NULL, &before) &&
		    before.sa_handler == SIG_IGN)
			continue;
		if (sigaction(numbers[i], &action, NULL) < 0)
			return err_sys(e, "cannot catch signal %d", numbers[i]);
	}
	return 0;
}

static atomic_int requested;

static void on_request(int number)
{
	requested = number;
}

int cli_signals_catch_request(struct err *e)
{
	struct sigaction action = { .sa_handler = on_request, .sa_flags = SA_RESTART };

	return sigaction(SIGUSR1, &action, NULL) < 0 ? err_sys(e, "cannot catch SIGUSR1") : 0;
}

bool cli_signal_request(void)
{
	return atomic_exchange(&requested, 0) != 0;
}

int cli_signal_received(void)
{
	return received;
}

int cli_signals_fd(void)
{
	return wake[0];
}

static void on_first_interrupt(int number)
{
	(void)number; /* SA_RESETHAND has restored the default for the next one */
}

void cli_signals_let_first_pass(int fd)
{
	struct sigaction action = { .sa_handler = on_first_interrupt,
				    .sa_flags = SA_RESTART | SA_RESETHAND };
	sigset_t interrupt; /* whoever started the row of programs may have it wait until now */
	struct stat st;

	if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		sigaction(SIGINT, &action, NULL);
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

void cli_signals_restore(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1 };
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
