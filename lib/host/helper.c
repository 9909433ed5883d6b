/* SPDX-License-Identifier: Apache-2.0 */
/* The child must not run what is the parent's at exit: it leaves by _exit. */
#include "lib/host/helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_WAIT_MS 100

static void prepare_child(const char *name, int fd, pid_t parent)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2 };
	int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	if (getppid() != parent)
		_exit(0);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	for (int i = 0; i < HOST_HELPER_FD; i++)
		dup2(quiet, i);
	if (fd != HOST_HELPER_FD)
		dup2(fd, HOST_HELPER_FD);
	/* Locks and outputs of the recorder must not live on here. */
	if (syscall(SYS_close_range, HOST_HELPER_FD + 1, ~0u, 0) != 0)
		for (int i = HOST_HELPER_FD + 1; i < 1024; i++)
			close(i);
}

pid_t host_helper_start(const char *name, int fd, void (*serve)(void))
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prepare_child(name, fd, parent);
		serve();
		_exit(0);
	}
	return pid;
}

void host_helper_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int i = 0; i < STOP_WAIT_MS && waitpid(pid, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, 1);
}
