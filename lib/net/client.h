/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests to servers the user named, over http or https. Nothing is followed elsewhere: a
 * redirect is an answer. One client keeps its connections and is used by one thread.
 */
#ifndef INGERO_NET_CLIENT_H
#define INGERO_NET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"

struct net_client_options {
	const char *const *headers; /* "Key: value"; borrowed as long as the client lives */
	size_t nheaders;
	const char *ca_file; /* PEM; NULL: those of the system */
	uint64_t timeout_ns; /* of one request as a whole; 0: 10 s */
	uint64_t reach_ns;   /* of it, until the server is connected to; 0: all */
	size_t answer_max;   /* bytes of an answer's body; 0: 1 MiB */
	const char *agent;   /* User-Agent */
	bool (*stop)(void);  /* asked about once a second while a request runs: true gives it up;
				NULL: never */
};

struct net_client;

struct net_answer {
	unsigned status;	 /* of HTTP */
	uint64_t retry_after_ns; /* as the server asked; 0: it did not */
	struct buf body;
};

/* ERR_CANNOT: built without libcurl. ERR_USAGE: a header that is none. */
int net_client_new(struct net_client **out, const struct net_client_options *opt, struct err *e);
void net_client_free(struct net_client *c);

/* POST body, or GET when type is NULL. *answer is the caller's (net_answer_free) and holds when 0
 * is returned, whatever its status. ERR_CANNOT: no answer came (refused, timed out, certificate);
 * ERR_USAGE: no URL of http or https; ERR_LIMIT: the answer is too long; ERR_INTERRUPTED: stop said
 * so. */
int net_client_send(struct net_client *c, const char *url, const char *type, struct bytes body,
		    struct net_answer *answer, struct err *e);

static inline void net_answer_free(struct net_answer *a)
{
	buf_free(&a->body);
}

#endif
