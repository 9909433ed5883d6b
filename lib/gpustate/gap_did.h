/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a thread spent the time outside its calls since its device became idle: on its CPU, waiting, or kept from running by the
 * host. What it waited for is told of its critical path (lib/tracks/track.h).
 */
#ifndef INGERO_GPUSTATE_GAP_DID_H
#define INGERO_GPUSTATE_GAP_DID_H

#include "lib/attrib/line.h"

/* Zero-initialised is empty. */
struct gap_did {
	uint64_t self_ns, waited_ns, host_ns; /* all of it */
	uint64_t longest_ns;		      /* wait */
	uint64_t thread_ns;		      /* longest wait for another thread */
	uint32_t waker; /* who ended that; 0: it is not known, or there is none */
};

/* The part of a stretch outside calls that lies behind from_ns. */
static inline void gap_did_add(struct gap_did *d, const struct line_piece *p, int64_t from_ns)
{
	uint64_t rest, host, self, waker = 0, kind = WAKER_NONE;

	if (p->start_ns > from_ns)
		from_ns = p->start_ns;
	if (p->end_ns <= from_ns)
		return;
	/* A wait ends in waiting for a CPU, so what is cut off at its front is not that. */
	rest = (uint64_t)(p->end_ns - from_ns);
	host = parts_sum(p->parts, PARTS_NOT_OWN);
	host = host > rest ? rest : host;
	d->host_ns += host;
	rest -= host;
	self = parts_get(p->parts, PART_SELF);
	self = self > rest ? rest : self;
	d->self_ns += self;
	rest -= self;
	d->waited_ns += rest;
	if (rest > d->longest_ns)
		d->longest_ns = rest;
	if (!rest || rest <= d->thread_ns || !parts_get(p->parts, PART_IDLE))
		return;
	d->thread_ns = rest;
	if (p->ev && event_get(p->ev, p->op, COL_WAKER_KIND, &kind) && kind == WAKER_TASK)
		event_get(p->ev, p->op, COL_WAKER, &waker);
	d->waker = (uint32_t)waker;
}

/* Mostly a wait that another thread ended. */
static inline bool gap_did_wait_for_thread(const struct gap_did *d)
{
	return d->waker && d->thread_ns > d->self_ns && 2 * d->thread_ns > d->waited_ns;
}

#endif
