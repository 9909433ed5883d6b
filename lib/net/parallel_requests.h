/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to many servers at once. Each has its own time; connections are kept from one round to
 * the next.
 */
#ifndef INGERO_NET_PARALLEL_REQUESTS_H
#define INGERO_NET_PARALLEL_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/net/client.h"

struct net_ask {
	/* What is asked, as net_client_send has it; borrowed. */
	const char *url, *type;
	struct bytes body;
	bool skip;    /* not this time */
	bool to_file; /* the answer goes to fd as it comes; its time counts from the last byte */
	int fd;
	size_t file_max; /* bytes that may go there; 0: any */
	/* What came: rc 0 and the answer, freed by the caller; else why. */
	int rc;
	struct err e;
	struct net_answer answer;
	int64_t sent_ns, came_ns; /* CLOCK_REALTIME: before it was sent, when its answer began;
				     known where rc is 0 */
	void *running;		  /* while it does; the fan's */
};

struct net_parallel_requests;

/* coming_max: bytes of answers that may be on their way at once and do not go to files: what is
 * more than that is taken from the longest, which end with ERR_LIMIT; 0: any. */
int net_parallel_requests_new(struct net_parallel_requests **out,
			      const struct net_client_options *opt, size_t coming_max,
			      struct err *e);
void net_parallel_requests_free(struct net_parallel_requests *f);
/* From here on answers that go to files may take so many bytes in all, those that have come in the
 * same round with them: what is more is taken from the longest that still comes, which ends with
 * ERR_LIMIT, and its file is empty. 0, as before: any. */
void net_parallel_requests_files(struct net_parallel_requests *f, size_t files_max);

/* Sends all of them, at_once at a time (0: all). done, when not NULL, is called for each when it
 * ends, in any order. stop is called ten times a second; true: ERR_INTERRUPTED, also for those that
 * have not ended by then. */
int net_parallel_requests_out(struct net_parallel_requests *f, struct net_ask *asks, size_t n,
			      size_t at_once, void (*done)(void *ctx, struct net_ask *ask),
			      bool (*stop)(void *ctx), void *ctx, struct err *e);

#endif
