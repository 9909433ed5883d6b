/* SPDX-License-Identifier: Apache-2.0 */
/* A message is a descriptor to write to, and how long it may take. */
#include "lib/mcp/checker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cli/sibling.h"
#include "lib/host/helper.h"

struct mcp_checker {
	int fd;
	pid_t pid;
};

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- the process ---- */

/* Receives a file descriptor and a time limit. < 0: the peer has gone, or sent something else. */
static int receive_request(int from, unsigned *seconds)
{
	union control control;
	struct iovec what = { seconds, sizeof(*seconds) };
	struct msghdr m = { .msg_iov = &what,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	ssize_t n;
	int fd;

	while ((n = recvmsg(from, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	c = n == (ssize_t)sizeof(*seconds) ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void run_check(int fd, unsigned seconds)
{
	char *argv[] = { "ingero-check", "--look-only", "--json", NULL };

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	alarm(seconds);
	if (dup2(fd, STDOUT_FILENO) >= 0)
		cli_sibling_exec(argv);
	_exit(1);
}

static void serve_requests(void)
{
	unsigned seconds;
	int fd;

	while ((fd = receive_request(HOST_HELPER_FD, &seconds)) >= 0) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (fork() == 0)
			run_check(fd, seconds);
		close(fd);
	}
}

/* ---- who asks it ---- */

int mcp_checker_new(struct mcp_checker **out, struct err *e)
{
	struct mcp_checker *c = calloc(1, sizeof(*c));
	int ends[2];

	*out = NULL;
	if (!c)
		return err_nomem(e);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(c);
		return err_sys(e, "cannot make a socket");
	}
	c->pid = host_helper_start("ingero-checker", ends[1], serve_requests);
	c->fd = ends[0];
	close(ends[1]);
	if (c->pid < 0) {
		err_sys(e, "cannot make a process");
		close(c->fd);
		free(c);
		return e->code;
	}
	*out = c;
	return 0;
}

int mcp_checker_run(const struct mcp_checker *c, int fd, unsigned seconds, struct err *e)
{
	union control control = { .head = { .cmsg_len = CMSG_LEN(sizeof(fd)),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS } };
	struct iovec what = { &seconds, sizeof(seconds) };
	struct msghdr m = { .msg_iov = &what,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(c->fd, &m, MSG_NOSIGNAL) < 0 ? err_sys(e, "cannot start ingero-check") : 0;
}

void mcp_checker_free(struct mcp_checker *c)
{
	if (!c)
		return;
	close(c->fd);
	host_helper_stop(c->pid);
	free(c);
}
