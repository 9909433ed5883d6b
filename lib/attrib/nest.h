/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls inside calls on one thread, from a stream in end order: when a call arrives, everything
 * inside it has arrived. One accumulator per depth takes the parts of finished children until
 * their parent comes for them, so a call of ten minutes costs what one of ten microseconds does.
 * Invariant: what nest_take returns sums to the call's duration, and no nanosecond is in two
 * siblings. Where containment contradicts itself (a lost parent, a late child) time is unknown.
 */
#ifndef INGERO_ATTRIB_NEST_H
#define INGERO_ATTRIB_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attrib/parts.h"

#define NEST_DEPTH 16

/* The finished children at one depth whose parent has not arrived yet. */
struct nest_level {
	int64_t first_ns, last_ns; /* start of the first, end of the last; valid when ns */
	uint64_t ns;		   /* sum of their lengths */
	uint64_t calls_ns;	   /* of which calls */
	bool sync;		   /* one of them waits for the device */
	struct parts parts;	   /* sums to ns */
};

/* Zero-initialised is empty. */
struct nest {
	unsigned deepest;		      /* highest depth with children waiting, 0 none */
	struct nest_level *level[NEST_DEPTH]; /* allocated when first used; [0] never */
};

void nest_free(struct nest *n);

enum nest_child { NEST_OFFCPU, NEST_CALL };

/* A finished child at this depth (>= 1) and its parts, which sum to end - start. False: out of
 * memory. */
bool nest_add(struct nest *n, enum nest_child child, unsigned depth, int64_t start_ns,
	      int64_t end_ns, const struct parts *parts, bool sync);

static inline void nest_level_clear(struct nest_level *l)
{
	l->ns = l->calls_ns = 0;
	l->sync = false;
	parts_clear(&l->parts);
}

/* Where a child at this depth is added; NULL: nest_add knows. */
static inline struct nest_level *nest_ready(const struct nest *n, unsigned depth)
{
	return depth < NEST_DEPTH ? n->level[depth] : NULL;
}

/* The same as nest_add of a call that is one part and longer than 0, where that level is ready, the
 * child begins no earlier than the last there ended, and none waits deeper. */
static inline void nest_add_plain(struct nest *n, struct nest_level *l, unsigned depth,
				  int64_t start_ns, int64_t end_ns, enum part part)
{
	uint64_t ns = (uint64_t)(end_ns - start_ns);

	if (l->ns == 0)
		l->first_ns = start_ns;
	parts_add(&l->parts, part, 0, ns);
	l->ns += ns;
	l->calls_ns += ns;
	l->last_ns = end_ns;
	l->sync |= part == PART_DEVICE;
	if (n->deepest < depth)
		n->deepest = depth;
}

struct nest_call {
	struct parts *inner; /* out: parts of the children, empty when there are none */
	uint64_t inner_ns;   /* out: their sum */
	uint64_t calls_ns;   /* out: of which inside calls; a call's own time is what they leave */
	bool sync;	     /* out: a child waits for the device */
	bool sound;	     /* out: false: the children do not fit, all of the call is unknown */
	struct parts *orphans; /* out: children of a call that never arrived, and that ended before
				  this one began */
	uint64_t orphans_ns;
	int64_t orphans_first_ns, orphans_last_ns;
};

/* What happened inside a call at this depth that ran from start to end. Takes it out of the nest.
 * For calls at depth >= 1, orphans are left with the siblings and not returned. c->inner and
 * c->orphans: cleared by the caller. */
void nest_take_some(struct nest *n, unsigned depth, int64_t start_ns, int64_t end_ns,
		    struct nest_call *c);

static inline void nest_take(struct nest *n, unsigned depth, int64_t start_ns, int64_t end_ns,
			     struct nest_call *c)
{
	c->inner_ns = c->calls_ns = c->orphans_ns = 0;
	c->sync = false;
	c->sound = true;
	if (n->deepest > depth)
		nest_take_some(n, depth, start_ns, end_ns, c);
}

/* End of the last child waiting at this depth; INT64_MIN when there is none. */
static inline int64_t nest_last(const struct nest *n, unsigned depth)
{
	return depth < NEST_DEPTH && n->level[depth] && n->level[depth]->ns
		       ? n->level[depth]->last_ns
		       : INT64_MIN;
}

/* Levels allocated, for memory accounting. */
unsigned nest_held(const struct nest *n);

#endif
