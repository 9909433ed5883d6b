/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server: one thread answers, request by request, what a handler says. Requests, their bodies and the number
 * of connections are bounded; one that takes too long is cut off.
 */
#ifndef INGERO_NET_SERVER_H
#define INGERO_NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"

struct net_server_options {
	const char *
		address; /* "9464" and ":9464" are on this machine only; "0.0.0.0:9464", "[::]:9464"; port 0: any */
	size_t body_max;	  /* of a request; 0: none may come */
	unsigned connections_max; /* 0: 64 */
	unsigned timeout_s;	  /* without a byte; 0: 30 */
};

struct net_call {
	const char *method, *path; /* "GET", "/metrics": without what follows a '?' */
	struct bytes body;
	void *connection; /* for net_call_header */
};

/* NULL: it has none. name in any case. */
const char *net_call_header(const struct net_call *call, const char *name);

struct net_reply {
	unsigned status;  /* 200 unless said otherwise */
	const char *type; /* of the body; static text; NULL: "text/plain; charset=utf-8" */
	struct buf body;  /* taken over */
};

/* Called in the server's thread. */
typedef void net_handler(void *ctx, const struct net_call *call, struct net_reply *reply);

struct net_server;

/* ERR_CANNOT: the address is taken, or built without libmicrohttpd. ERR_USAGE: it is no address. */
int net_server_start(struct net_server **out, const struct net_server_options *opt,
		     net_handler *handler, void *ctx, struct err *e);
/* "127.0.0.1:9464", as bound; borrowed. */
const char *net_server_address(const struct net_server *s);
/* Whoever is being answered is answered first. */
void net_server_stop(struct net_server *s);

#endif
