/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a body to a receiver that may be busy: retries as OTLP requires, and gives up after some
 * tries.
 */
#ifndef INGERO_NET_PUSH_H
#define INGERO_NET_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/net/client.h"

struct net_push_options {
	unsigned tries;		   /* in all; 0: 5 */
	uint64_t wait_ns;	   /* before the second one, doubled for each further; 0: 1 s */
	uint64_t wait_max_ns;	   /* longest wait, also of those the receiver asks for; 0: 30 s */
	bool (*interrupted)(void); /* ends the waiting; NULL: never */
	/* Called before each wait; may be NULL. */
	void (*waiting)(const char *why, uint64_t ns);
	/* Called with the body of a 2xx answer; its result is that of net_push. May be NULL. */
	int (*taken)(void *ctx, struct bytes body, struct err *e);
	void *ctx;
};

/* 0: the receiver took it (2xx). ERR_CANNOT with what it said. What is worth another try: no answer
 * at all, and 429, 502, 503 and 504. ERR_INTERRUPTED. */
int net_push(struct net_client *c, const struct net_push_options *opt, const char *url,
	     const char *type, struct bytes body, struct err *e);

#endif
