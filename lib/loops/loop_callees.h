/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a line of a program calls, numbered from 1 in the order in which it was first seen to:
 * functions and library calls. In a loop that stands on one line the line never changes, but the
 * number of what it calls jumps back where an iteration begins.
 */
#ifndef INGERO_LOOPS_LOOP_CALLEES_H
#define INGERO_LOOPS_LOOP_CALLEES_H

#include <stdbool.h>
#include <stdint.h>

#define LOOP_CALLEES 12 /* different ones of a line; more are not told apart */

/* Library calls are no functions, whose numbers are small. */
#define LOOP_CALLEE_OP	 0x80000000u /* or-ed with the op */
#define LOOP_CALLEE_SYNC 0x40000000u /* of such a one: it waits for the device */

/* Zero-initialised: nothing was called. */
struct loop_callees {
	uint8_t n, at;	 /* at: number of the newest; 0: none */
	bool round_trip; /* one is a function, or waits for the device */
	struct {
		uint32_t key;
		int64_t ns;	/* when it was called last */
		uint64_t calls; /* of the thread until then */
	} v[LOOP_CALLEES];
};

/* The first callee. */
static inline void loop_callees_begin(struct loop_callees *c, uint32_t key, int64_t ns,
				      uint64_t calls)
{
	c->n = c->at = 1;
	c->round_trip = !(key & LOOP_CALLEE_OP) || key & LOOP_CALLEE_SYNC;
	c->v[0].key = key;
	c->v[0].ns = ns;
	c->v[0].calls = calls;
}

/* The number of that callee; 0: there are too many. */
static inline unsigned loop_callees_find(struct loop_callees *c, uint32_t key)
{
	for (unsigned i = 0; i < c->n; i++) {
		if (c->v[i].key == key)
			return i + 1;
	}
	if (c->n == LOOP_CALLEES)
		return 0;
	c->round_trip |= !(key & LOOP_CALLEE_OP) || key & LOOP_CALLEE_SYNC;
	c->v[c->n].key = key;
	c->v[c->n].ns = INT64_MIN;
	return ++c->n;
}

#endif
