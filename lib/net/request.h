/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request between the thread that reads and writes and the one that answers: whoever is done with
 * it last frees it. All of it but what the request says (which stays as it is once it is whole) is
 * under its lock.
 */
#ifndef INGERO_NET_REQUEST_H
#define INGERO_NET_REQUEST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/net/pool.h"
#include "lib/net/server.h"

#define NET_STREAM_HELD 131072 /* bytes that wait to be taken before a writer waits */

enum net_request_state {
	NET_READING,
	NET_ASKED,     /* somebody answers, or will */
	NET_ANSWERED,  /* reply stands */
	NET_STREAMING, /* head of the reply stands, pieces come */
};

/* What all requests of a server share. */
struct net_requests {
	atomic_bool stopping;
	atomic_uint streams; /* that are open now */
	unsigned streams_max;
	int64_t timeout_ns;
};

struct net_field {
	char *name, *value;
};

struct net_request {
	struct net_job job; /* first */
	struct net_requests *all;
	char *method, *path, peer[64];
	VEC(struct net_field) headers;
	VEC(struct net_field) query;
	struct buf body;
	bool head;

	/* The thread that writes lets it lie until it is resumed. Called under the lock. */
	void (*suspend)(struct net_request *q);
	void (*resume)(struct net_request *q);
	void *connection;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned refs;
	enum net_request_state state;
	int fd;		   /* -1: the connection is gone */
	int64_t looked_ns; /* when it was looked whether the peer… */
	bool left;	   /* …has left */
	int64_t half_ns;   /* when it was found to send no more; 0: it may */
	struct net_reply reply;
	struct buf pieces;
	size_t taken;	     /* of pieces */
	int64_t taken_ns;    /* when some were taken last; CLOCK_MONOTONIC */
	bool asleep;	     /* who writes waits for pieces, or for their end */
	bool ended, handled; /* no more pieces come; the first turn of a handler is over */
};

int64_t net_now(void); /* CLOCK_MONOTONIC */

/* NULL: out of memory. One reference. */
struct net_request *net_request_new(struct net_requests *all, int fd, const char *method,
				    const char *path);
bool net_request_field(struct net_request *q, bool of_query, const char *name, const char *value);
void net_request_drop(struct net_request *q);

/* A handler has had its turn: the answer stands, or its last piece. */
void net_request_done(struct net_request *q);
/* Nobody is there any more who could be answered. */
void net_request_gone(struct net_request *q);

/* Up to max bytes of what is to be sent; 0: none yet, and suspended; -1: that was all. */
int64_t net_request_take(struct net_request *q, char *to, size_t max);

#endif
