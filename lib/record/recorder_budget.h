/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of a recording as the recorder keeps it: what calls of each tier have cost the busiest
 * program, which tiers are paused since when, and how the programs went on with and without probes.
 * A member of struct recorder.
 */
#ifndef INGERO_RECORD_RECORDER_BUDGET_H
#define INGERO_RECORD_RECORDER_BUDGET_H

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/record/budget.h"
#include "lib/record/slowdown.h"

#define OPS_COUNTED 8192 /* op numbers are smaller: 32 sources of 256 */

struct recorder_budget {
	struct record_budget plan;
	struct record_progress progress;
	uint8_t tier_of[OPS_COUNTED];	    /* by op */
	uint64_t calls[TIERS], seen[TIERS]; /* recorded so far; at the last look */
	uint64_t folded_seen[TIERS];
	VEC(uint32_t) by_ctx;  /* calls of each ctx of the world since busiest was found out */
	VEC(uint32_t) touched; /* those that are not 0 */
	double busiest;	       /* share of all calls that the process with most calls makes */
	int64_t next_busiest_ns;
	double cost_ns; /* of that process's calls so far, by calibration */
	bool paused[TIERS];
	int64_t paused_since[TIERS];
	uint64_t paused_ns[TIERS]; /* in pauses that are over */
	uint64_t pauses;
	int64_t interval_ns; /* with or without probes of what is shed: since then */
	uint64_t interval_units;
	double interval_cost;
	bool told, refused_told;
};

/* What recording costs the busiest program: share of its time, with the ends of an interval that
 * holds it 95 % of the time where its own progress says so (windows > 0). */
struct recorder_slowdown {
	double share, low, high;
	unsigned windows;
};

/* Counts an event's call. */
void recorder_budget_count(struct recorder_budget *b, const struct event *ev);
/* True cost of a call over its calibrated cost. */
double recorder_budget_factor(const struct recorder_budget *b);
void recorder_budget_free(struct recorder_budget *b);

#endif
