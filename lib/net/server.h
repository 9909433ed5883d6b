/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server: one thread reads and writes, several at once answer what is asked. Requests,
 * their bodies, the time they may take to arrive and the number of connections are bounded, whoever
 * sends them; a request is whole, and let in, before a handler sees it.
 */
#ifndef INGERO_NET_SERVER_H
#define INGERO_NET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"

/*
 * Who is let in. Asked for by a name of another's (a page that lets its own name lead here) or from
 * a page of another's: 403. Names that are let in: localhost, addresses of this machine's loopback,
 * the address a request came to, and hosts. Without the token: 401.
 */
struct net_access_check {
	const char *token;	  /* as in "Authorization: Bearer TOKEN"; NULL: nobody needs one */
	const char *const *open;  /* paths for which none is needed; ended by NULL, or NULL */
	const char *const *hosts; /* without ports; ended by NULL, or NULL */
};

struct net_cert;

struct net_server_options {
	const char *address;	  /* "9464" and ":9464" are on this machine only; "0.0.0.0:9464",
				     "[::]:9464"; port 0: any */
	size_t body_max;	  /* of a request; 0: none may come */
	unsigned connections_max; /* 0: 64; beyond it those that wait for a request make room
				     (net_watch_make_room) */
	unsigned threads_max;	  /* handlers at the same time; 0: 1; more wait for their turn */
	unsigned streams_max;	  /* of those, how many may stream; 0: all but one, at least one */
	unsigned timeout_s; /* for the head of a request to arrive, then for its body, and for any
			       part of an answer to be taken; 0: 30 */
	struct net_cert *cert; /* TLS 1.3 with it (net/cert.h), for one server at a time; borrowed.
				  NULL: plain HTTP */
	const struct net_access_check *guard; /* borrowed; NULL: everybody is let in */
};

/* A request. What hangs on it lives until its handler returns. */
struct net_call {
	const char *method, *path; /* "GET", "/metrics": decoded, without what follows a '?' */
	bool head;		   /* a HEAD, which is answered as a GET without its body */
	struct bytes body;
	const char *peer; /* "192.0.2.7", "::1" */
	struct net_request *request;
};

/* NULL: it has none. name in any case. Of a query the first of that name, decoded; all is UTF-8. */
const char *net_call_header(const struct net_call *call, const char *name);
const char *net_call_query(const struct net_call *call, const char *name);

/* Whether nobody waits for the answer any more: the connection is broken, the peer closed its side
 * some seconds ago (who did so right behind the request may still read), or the server is being
 * stopped. */
bool net_call_gone(const struct net_call *call);
/* Sleeps so long, less when nobody waits any more; then true. */
bool net_call_wait(const struct net_call *call, uint64_t ns);

struct net_reply {
	unsigned status;    /* 200 unless said otherwise */
	const char *type;   /* of the body; static text; NULL: "text/plain; charset=utf-8" */
	struct buf body;    /* taken over */
	struct buf headers; /* by net_reply_header; taken over */
};

/* One more header; what could end a line is left out of value. */
void net_reply_header(struct net_reply *reply, const char *name, const char *value);

/* Whether the method is one of "GET, POST"; if not, reply says so: 405, to OPTIONS 204, both with
 * Allow. */
bool net_call_allowed(const struct net_call *call, const char *methods, struct net_reply *reply);

/*
 * An answer in pieces. begin sends status, type, headers and what stands in body; write waits while
 * the peer leaves more than some 100 KB lying. The answer ends when the handler returns; its reply
 * is not looked at any more, and not to be touched once it has begun. ERR_LIMIT (begin): too many
 * streams at once, to be answered with 503. ERR_CLOSED: nobody waits any more, or takes what is
 * sent.
 */
int net_stream_begin(const struct net_call *call, struct net_reply *reply, struct err *e);
int net_stream_write(const struct net_call *call, const void *p, size_t n, struct err *e);

/* Called in several threads at once, up to threads_max. */
typedef void net_handler(void *ctx, const struct net_call *call, struct net_reply *reply);

struct net_server;

/* ERR_CANNOT: the address is taken, or built without libmicrohttpd or, with cert, a libmicrohttpd
 * without TLS. ERR_USAGE: it is no address. */
int net_server_start(struct net_server **out, const struct net_server_options *opt,
		     net_handler *handler, void *ctx, struct err *e);
/* "127.0.0.1:9464", as bound; borrowed. */
const char *net_server_address(const struct net_server *s);
/* Nobody new is let in; whoever is being answered is answered first, though net_call_gone tells
 * handlers to hurry. */
void net_server_stop(struct net_server *s);

#endif
