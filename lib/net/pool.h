/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that do what is given to them, in the order it came. As many as there is work for, up to
 * a limit; each waits for more.
 */
#ifndef INGERO_NET_POOL_H
#define INGERO_NET_POOL_H

#include <stdbool.h>

#include "lib/base/err.h"

struct net_pool;

/* To be the first member of what is given. */
struct net_job {
	struct net_job *next;
};

int net_pool_new(struct net_pool **out, unsigned threads_max,
		 void (*run)(void *ctx, struct net_job *job), void *ctx, struct err *e);
/* False: no thread can be had, or the pool is closed. */
bool net_pool_add(struct net_pool *p, struct net_job *job);
/* Does what it was given, and takes nothing any more. */
void net_pool_close(struct net_pool *p);
void net_pool_free(struct net_pool *p); /* closed before, or NULL */

#endif
