/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing descriptors that take long to close, as those of links do where the kernel's own threads
 * get no CPU. Here they are sockets that linger: their close waits until the peer has read what was
 * sent.
 */
#include "lib/attach/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/vec.h"
#include "tests/tap.h"

#define MANY 40 /* more than there are processes to close them */

/* fd[0]: closing it takes until all that was sent is read from fd[1], or a minute. */
static bool lingering(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	struct linger wait = { 1, 60 };
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[4096] = { 0 };

	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server < 0 || fd[0] < 0 || bind(server, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(server, 1) || getsockname(server, (struct sockaddr *)&a, &n) ||
	    connect(fd[0], (struct sockaddr *)&a, sizeof(a)))
		return false;
	fd[1] = accept(server, NULL, NULL);
	close(server);
	while (send(fd[0], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return fd[1] >= 0 && errno == EAGAIN &&
	       setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &wait, sizeof(wait)) == 0;
}

static bool closed_here(int fd)
{
	return fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

#define SOON_MS 10000 /* long before the lingering ends */

/* Nobody writes to it any more. */
static bool at_end(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	return poll(&p, 1, SOON_MS) == 1 && read(fd, &c, 1) == 0;
}

static void all_at_once(bool returns)
{
	struct probe_fds fds = { 0 };
	struct probe_fd_list *list = returns ? &fds.returns : &fds.entries;
	int reader[MANY], writer[MANY];
	bool gone = true, here = true;

	for (int i = 0; i < MANY; i++) {
		int p[2] = { -1, -1 };

		if (pipe(p))
			break;
		reader[i] = p[0];
		writer[i] = p[1];
		vec_push(list, p[1]);
	}
	is_int(list->n, MANY, "so many descriptors");
	ok(probe_link_detach(&fds), "all are closed");
	for (int i = 0; i < MANY; i++) {
		gone &= at_end(reader[i]);
		here &= closed_here(writer[i]);
		close(reader[i]);
	}
	ok(gone && here && !list->v && list->n == 0, "by everybody");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no process is left");
}

static void not_waited_for(bool abandoned)
{
	struct probe_fds fds = { 0 };
	int slow[2] = { -1, -1 }, out[2], beside[2];
	char bytes[4096];
	bool closed;

	if (!lingering(slow) || pipe(out) || pipe(beside)) {
		ok(false, "sockets and pipes: %s", strerror(errno));
		return;
	}
	vec_push(&fds.entries, slow[0]);
	vec_push(&fds.entries, beside[1]);
	closed = abandoned ? (probe_link_abandon(&fds), false) : probe_link_detach(&fds);
	ok(!closed && closed_here(slow[0]) && closed_here(beside[1]),
	   "one that does not end is left");
	is_int(waitpid(-1, NULL, WNOHANG) < 0, abandoned,
	       abandoned ? "to a process that is not ours" : "to a process that goes on");
	close(out[1]);
	ok(at_end(beside[0]), "which holds up no other");
	ok(at_end(out[0]), "and nobody who reads what we write");
	while (recv(slow[1], bytes, sizeof(bytes), 0) > 0)
		;
	while (waitpid(-1, NULL, 0) > 0)
		;
	ok(errno == ECHILD, "it ends with the closing");
	close(slow[1]);
	close(out[0]);
	close(beside[0]);
}

int main(void)
{
	struct probe_fds none = { 0 };

	ok(probe_link_detach(&none), "nothing to close");
	ok(vec_reserve(&none.returns, 2) && probe_link_detach(&none) && !none.returns.v,
	   "nor where there is room for some");
	all_at_once(false);
	all_at_once(true);
	not_waited_for(false);
	not_waited_for(true);
	return done_testing();
}
