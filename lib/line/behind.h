/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stood behind a wait that another thread ended: what that thread did while the wait lasted, and where it waited for
 * a third one itself, what that one did. Told from what the threads are known to have done off their CPUs
 * (line/wakers.h); the rest they were on them. Where that is not known of all the time, the sum is less than the wait.
 */
#ifndef INGERO_LINE_BEHIND_H
#define INGERO_LINE_BEHIND_H

#include "lib/line/losses.h"
#include "lib/line/thread.h"

/* Waits that another thread ends, if it was one. */
#define BEHIND_WAITS \
	(1u << PART_IDLE | 1u << PART_FD | 1u << PART_CHILD | 1u << PART_SOCKET | 1u << PART_POLL)
#define BEHIND	    4 /* kept, the largest */
#define BEHIND_HOPS 4 /* threads followed that waited for each other */

struct behind_item {
	uint32_t thread;  /* world id of who did it */
	uint32_t stack;	  /* where it went off its CPU, or was found on it; 0 not known */
	uint32_t culprit; /* as in struct parts: a disk; 0 none */
	enum part part;
	uint64_t ns;
};

/* Zero-initialised is empty. */
struct behind {
	struct behind_item v[BEHIND];
	unsigned n;
};

/* What of [from, to) of a wait of this thread that the waker ended is known. */
void behind_of(const struct threads *t, const struct losses *l, uint32_t victim, uint32_t waker,
	       int64_t from, int64_t to, struct behind *out);

/* The same state at the same place is one; of more than fit the smallest goes. */
void behind_add(struct behind *b, const struct behind_item *more);

#endif
