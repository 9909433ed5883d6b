/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread was doing lately while it was off its CPU: its last off-CPU intervals, at most
 * WAKERS_KEPT of them and none older than WAKERS_AGE_NS of event time, for following a lock's
 * holder to what kept it from releasing. Beyond that the answer is "unknown", never a guess.
 */
#ifndef INGERO_ATTRIB_WAKERS_H
#define INGERO_ATTRIB_WAKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attrib/parts.h"
#include "lib/event/op.h"

#define WAKERS_KEPT   256
#define WAKERS_AGE_NS 30000000000

struct waker_interval {
	int64_t start_ns, ready_ns, end_ns; /* [start, ready) blocked, [ready, end) runnable */
	uint64_t throttled_ns;		    /* of the runnable part */
	uint32_t part;			    /* category of the blocked part, enum part */
	uint32_t culprit;		    /* of the blocked part, 0 none */
	uint32_t waker;			    /* thread that ended the blocked part, 0 none */
	uint32_t cpu;			    /* of the runnable part */
	uint32_t stack;			    /* where it went off its CPU, 0 not known */
	enum lock_type lock : 8;	    /* of PART_LOCK */
	bool preempted;			    /* it was running before: nobody woke it */
	bool placed;			    /* that CPU is known for the whole of it */
};

/* Zero-initialised is empty. */
struct wakers {
	struct waker_interval *v; /* ring, newest at v[(next - 1) % cap] */
	uint32_t cap, next, n;
};

/* How much of [a, b) lies in [from, to). */
static inline uint64_t wakers_overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
	a = a > from ? a : from;
	b = b < to ? b : to;
	return b > a ? (uint64_t)(b - a) : 0;
}

void wakers_free(struct wakers *w);
bool wakers_add(struct wakers *w, const struct waker_interval *iv); /* false: out of memory */

/* The i-th newest (1 = newest) that ends after a_ns; NULL when there is none: older ones end
 * earlier. */
const struct waker_interval *wakers_back(const struct wakers *w, uint32_t i, int64_t a_ns);

/* True when everything since a_ns is still kept, so that a gap means "was running". */
bool wakers_covers(const struct wakers *w, int64_t a_ns, int64_t now_ns);

#endif
