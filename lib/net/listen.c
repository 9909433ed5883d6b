/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the socket that a server listens on. Ports must be numbers: names of services differ
 * between machines. They are checked here, since getaddrinfo truncates one that is too large. */
#include "lib/net/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Splits "host:port", ":port" or "port" in two parts; without a host it is loopback. */
static int split_address(const char *address, char *host, size_t size, const char **port,
			 struct err *e)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;

	*port = colon ? colon + 1 : address;
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (n >= size || !**port || strspn(*port, "0123456789") != strlen(*port) ||
	    strlen(*port) > 5 || strtoul(*port, NULL, 10) > 65535)
		return err_set(e, ERR_USAGE, "'%s' is no address to listen on: HOST:PORT is wanted",
			       address);
	snprintf(host, size, "%.*s", (int)n, address);
	if (!n)
		snprintf(host, size, "127.0.0.1");
	return 0;
}

int net_listen_find(const char *address, struct addrinfo **all, const struct addrinfo **at,
		    struct err *e)
{
	const struct addrinfo wanted = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
					 .ai_socktype = SOCK_STREAM };
	const char *port;
	char host[256];
	int rc = split_address(address, host, sizeof(host), &port, e);

	*all = NULL;
	*at = NULL;
	if (rc)
		return rc;
	rc = getaddrinfo(host, port, &wanted, all);
	if (rc)
		return err_set(e, ERR_CANNOT, "cannot listen on %s: %s", address, gai_strerror(rc));
	/* A name may have both; the older family is what people type. */
	for (*at = *all; (*at)->ai_next && (*at)->ai_family != AF_INET;)
		*at = (*at)->ai_next;
	return 0;
}

int net_listen_text(int fd, const char *address, char *out, size_t size, struct err *e)
{
	char host[INET6_ADDRSTRLEN], port[8];
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &n) < 0 ||
	    getnameinfo((struct sockaddr *)&at, n, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return err_sys(e, "cannot listen on %s", address);
	snprintf(out, size, at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return 0;
}

int net_listen_open(const struct addrinfo *at, const char *address, int *fd, struct err *e)
{
	const int on = 1;
	int rc;

	*fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return err_sys(e, "cannot listen on %s", address);
	setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (at->ai_family == AF_INET6)
		setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(*fd, at->ai_addr, at->ai_addrlen) == 0 && listen(*fd, SOMAXCONN) == 0)
		return 0;
	rc = err_sys(e, "cannot listen on %s", address);
	close(*fd);
	return rc;
}
