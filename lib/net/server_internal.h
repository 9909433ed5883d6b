/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a server, for the files that make one up: they are the only ones that know
 * libmicrohttpd, whose one thread reads requests and writes answers. A request that is whole lies
 * suspended until a thread of the pool has answered it, or has begun to.
 */
#ifndef INGERO_NET_SERVER_INTERNAL_H
#define INGERO_NET_SERVER_INTERNAL_H

#include <microhttpd.h>

#include "lib/net/access_check.h"
#include "lib/net/pool.h"
#include "lib/net/request.h"
#include "lib/net/server.h"
#include "lib/net/connection_deadlines.h"

struct net_server {
	struct net_server_options opt;
	struct net_requests all;
	struct MHD_Daemon *daemon;
	struct net_pool *pool;
	struct net_watch *watch;
	net_handler *handler;
	void *ctx;
	char address[64];
	pthread_mutex_t lock;
	unsigned answering; /* requests that are whole and not over; under the lock */
};

/* What a request is while it comes in, and until it is over. */
struct net_coming {
	struct net_request *q;
	const char *why; /* it is refused, or NULL */
	unsigned status;
	size_t dropped; /* bytes of a refused one's body */
	bool counted;
};

/* -1: it has none. */
int net_coming_socket(struct MHD_Connection *m);
/* A request whose head has come; NULL: out of memory. Why it is refused stands in it. */
struct net_coming *net_coming_begin(struct net_server *s, struct MHD_Connection *m, const char *url,
				    const char *method);
/* So many bytes of a body are more than may come. */
void net_coming_too_long(struct net_server *s, struct net_coming *c, uint64_t length);

/* What is known of a connection for watch.h. NULL: nothing, out of memory. */
struct net_watched *net_answer_watched(struct MHD_Connection *m);
/* In the thread that reads and writes, and under no lock. What stands in the request's reply is
 * taken out of it. */
enum MHD_Result net_answer_send(struct net_server *s, struct MHD_Connection *m,
				struct net_request *q);
/* Answered by ourselves, as the dashboard's API says what is wrong. */
enum MHD_Result net_answer_refuse(struct net_server *s, struct MHD_Connection *m,
				  struct net_request *q, unsigned status, const char *why);

#endif
