/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call, taken apart: what ask/ finds out and emit/ draws. Plain values; the code that fills it
 * in owns its texts.
 */
#ifndef INGERO_EVENT_CALL_H
#define INGERO_EVENT_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "lib/event/op.h"
#include "lib/event/part.h"

/* A stretch inside it: a call (op), or an interval off the CPU (part, who). */
struct call_inner {
	const struct op_def *op; /* NULL: off the CPU */
	enum part part;		 /* what most of the interval was */
	unsigned depth;		 /* below the call: 1 is directly inside */
	int64_t start_ns;
	uint64_t dur_ns;
	int32_t ret;
	struct bytes who; /* who took most of it; {0} nobody to name */
};

struct call_taker {
	enum part part;
	uint64_t ns;
	struct bytes who;
};

struct call_detail {
	const struct op_def *op;
	struct bytes process, node;
	uint32_t pid, tid;
	int64_t start_ns, end_ns; /* on the recording's clock */
	int32_t ret;
	const char *error;	      /* name of ret; NULL: none */
	uint64_t part_ns[PART_COUNT]; /* sum to its duration */
	uint64_t calls_ns;	      /* in calls inside it */
	bool open, sound;	      /* it had not returned; what was inside it fits */
	VEC(struct call_taker) takers;
	VEC(struct call_inner) inner; /* by start */
	unsigned paused; /* tiers (1 << enum op_tier) of which calls were not all recorded meanwhile
			  */
	bool of_recorded;	 /* the longest of its op, which was recorded in windows */
	uint64_t inner_left_out; /* there were more than are kept */
	VEC(struct bytes) stack; /* innermost first */
};

#endif
