/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recordings side by side, row by row of a key: what got slower. Recordings are not equally
 * long, so counts and sums are compared per second.
 */
#ifndef INGERO_EVENT_COMPARE_H
#define INGERO_EVENT_COMPARE_H

#include "lib/base/bytes.h"
#include "lib/event/groups.h"
#include "lib/event/diff.h"

/* What changed by more than asked for, a mask. */
enum compare_what {
	COMPARE_P50 = 1 << 0,
	COMPARE_P99 = 1 << 1,
	COMPARE_TOTAL = 1 << 2, /* time per second */
	COMPARE_ERRORS = 1 << 3,
};
#define COMPARE_WHATS 4

/* Besides the share: less is noise, whatever share of little it is. */
#define COMPARE_LEAST_NS     1000 /* of a quantile */
#define COMPARE_LEAST_COUNT  100  /* durations on both sides, for medians to be compared; */
#define COMPARE_LEAST_TAIL   1000 /* ...and for p99: ten are beyond it */
#define COMPARE_LEAST_TOTAL  DIFF_LEAST_NS /* ns in a second */
#define COMPARE_LEAST_ERRORS 1.0	   /* in a second, unless there were none before */

struct compare_row {
	struct bytes key, name, node;	       /* of the side that has it; {NULL, 0}: none */
	const struct by_row *side[DIFF_SIDES]; /* NULL: not there */
	enum by_kind kind;
	unsigned worse, better; /* enum compare_what */
};

struct compare {
	enum by_key key;
	double threshold; /* share: 0.1 */
	bool calls_only;
	const char *name[DIFF_SIDES]; /* operands */
	uint64_t wall_ns[DIFF_SIDES], events[DIFF_SIDES], lost_events[DIFF_SIDES];
	VEC(struct compare_row)
	rows; /* the worse first; then by how much their time per second changed, most first */
	size_t worse; /* rows */
};

/* x of one side in a second of its wall time. */
static inline double compare_per_s(const struct compare *c, unsigned side, uint64_t x)
{
	return c->wall_ns[side] ? (double)x * 1e9 / (double)c->wall_ns[side] : 0;
}

#endif
