/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a server listens: what people type, as an address of this machine, and what came of it.
 */
#ifndef INGERO_NET_LISTEN_H
#define INGERO_NET_LISTEN_H

#include <stddef.h>

#include "lib/base/err.h"

struct addrinfo;

/* "host:port", ":port" and "port", which are on loopback. *all is the caller's: freeaddrinfo; *at
 * is one of it. ERR_USAGE: it is no address; ERR_CANNOT: none of this machine. */
int net_listen_find(const char *address, struct addrinfo **all, const struct addrinfo **at,
		    struct err *e);
/* A socket that listens there, the caller's; address: as it was asked for. Our own call, since
 * libmicrohttpd 1.0 does not say why it cannot. ERR_SYS: it is taken, say. */
int net_listen_open(const struct addrinfo *at, const char *address, int *fd, struct err *e);
/* "127.0.0.1:9464", of a socket that listens; address: as it was asked for. */
int net_listen_text(int fd, const char *address, char *out, size_t size, struct err *e);

#endif
