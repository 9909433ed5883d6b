/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one of several inputs brought: counted as its items pass. Nothing of it changes the stream.
 */
#ifndef INGERO_INPUT_INPUT_COUNTS_H
#define INGERO_INPUT_INPUT_COUNTS_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/stream.h"
#include "lib/ige/reader.h"

/* Between these times something could not be read; INT64_MIN and INT64_MAX: from the beginning, to
 * the end. */
struct input_hole {
	int64_t since_ns, until_ns;
	uint64_t events; /* missing there; 0: how many is not known */
};

struct input_tally {
	uint64_t events, records, chains, stacks, lost;
	int64_t first_ns, last_ns; /* ends of events; valid when events */
	/* Of its clock records: how far the wall clock is ahead of the joined one. */
	uint64_t clocks;
	int64_t ahead_min_ns, ahead_max_ns;
	uint64_t uncertainty_ns; /* greatest */
	VEC(struct input_hole) holes;

	VEC(uint8_t) stack_seen; /* a bit per world stack */
	VEC(uint8_t) site_seen;	 /* of sheets: whether a site of this segment was looked at */
	size_t sites_seen;	 /* how many were */
	uint64_t generation;	 /* of its dictionary */
	struct map chain_seen;
	uint64_t damage, missing; /* of the report, when last looked at */
	int64_t now_ns;		  /* greatest end or watermark so far */
};

void input_tally_free(struct input_tally *t);

/* inner and t stay the caller's; report: of the reader behind inner, looked at for holes. NULL: out
 * of memory. */
struct event_stream *input_tally(struct event_stream *inner, struct input_tally *t,
				 const struct ige_report *report);

#endif
