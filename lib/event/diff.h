/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recordings side by side: the causes found in each, by what they are without pids and times (a
 * chain's match), and each op's figures. What can be compared of recordings of different length is
 * per second of wall time.
 */
#ifndef INGERO_EVENT_DIFF_H
#define INGERO_EVENT_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "lib/event/op.h"
#include "lib/event/paused.h"

enum { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };

/* Of one side; known false: it is not there. Texts are borrowed from the sides' answers. */
struct diff_cause_side {
	bool known;
	uint32_t severity;
	uint64_t lost_ns, count;
	double lost_per_s; /* ns of lost time in a second of wall time */
	struct bytes summary;
};

struct diff_cause {
	struct bytes match, kind;
	struct diff_cause_side side[DIFF_SIDES];
	bool worse, better; /* by DIFF_CHANGE at least, and by DIFF_LEAST_NS in a second; neither:
			       as it was */
};

struct diff_op {
	const struct op_def *op; /* of the side that has it */
	uint64_t count[DIFF_SIDES], total_ns[DIFF_SIDES], p50_ns[DIFF_SIDES], p99_ns[DIFF_SIDES],
		errors[DIFF_SIDES], lost_ns[DIFF_SIDES];
	struct estimate all[DIFF_SIDES]; /* what is compared: with calls that were not recorded */
};

#define DIFF_CHANGE   0.10
#define DIFF_LEAST_NS 1000000.0

struct diff {
	const char *name[DIFF_SIDES]; /* operands */
	uint64_t wall_ns[DIFF_SIDES], events[DIFF_SIDES], lost_events[DIFF_SIDES],
		launches[DIFF_SIDES];
	bool host_recorded[DIFF_SIDES];
	VEC(struct diff_cause) causes; /* by how much they changed, most first */
	VEC(struct diff_op) ops;       /* by how much their total per second changed, most first */
};

/* x of one side in a second of its wall time. */
static inline double diff_per_s(const struct diff *d, unsigned side, uint64_t x)
{
	return d->wall_ns[side] ? (double)x * 1e9 / (double)d->wall_ns[side] : 0;
}

#endif
