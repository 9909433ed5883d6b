/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles to the nanosecond. The sketch of a run says between which two numbers each lies; the
 * durations themselves say which number it is. Short ones, nearly all, are counted one by one;
 * longer ones are kept while they are counted, as long as they fit, and are otherwise gone through
 * again: from the recording, once or twice. Memory is what the caller allows for those, plus 1 MiB
 * for each op.
 */
#ifndef INGERO_QUERY_EXACT_H
#define INGERO_QUERY_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/event/stream.h"
#include "lib/filter/filter.h"
#include "lib/stat/rank.h"
#include "lib/stat/sketch.h"

#define EXACT_QUANTILES 3     /* 50, 95, 99 % */
#define EXACT_FINE	65536 /* ns: shorter ones are counted; no bucket of a sketch lies across */

struct exact_op {
	uint16_t op;
	uint64_t *fine;	       /* how many of each, up to EXACT_FINE */
	VEC(uint32_t) shorter; /* than 2^32 ns, 4.3 s */
	VEC(uint64_t) longer;
	struct rank_search sought[EXACT_QUANTILES];
};

struct exact {
	uint64_t bytes, bytes_max;
	uint64_t counted; /* durations of the run */
	uint64_t again;	  /* …and how many were seen again in this round */
	bool overflowed;  /* they did not fit */
	bool changed;	  /* what was seen again are others */
	VEC(struct exact_op *) ops;
	uint16_t *of_op; /* index + 1 */
};

/* NULL: out of memory. bytes_max: of durations that are kept. */
struct exact *exact_new(uint64_t bytes_max);
void exact_free(struct exact *x);

/* NULL: out of memory. Good as long as x. */
struct exact_op *exact_op(struct exact *x, uint16_t op);
/* One duration is counted. False: out of memory. */
bool exact_count(struct exact *x, struct exact_op *o, uint64_t ns);
/* The same of many short ones: how many of each. */
void exact_count_fine(struct exact *x, struct exact_op *o, const uint32_t counts[EXACT_FINE]);

/* To be called when all are counted: sets the ranks to search for this op. False: out of memory. */
bool exact_start_search(struct exact *x, uint16_t op, const struct sketch *durations);
/* Searches the stored durations. False: not all were stored; then all are to be counted again,
 * until exact_next_round returns 0. */
bool exact_search_stored(struct exact *x);

static inline void exact_count_again(struct exact_op *o, uint64_t ns)
{
	for (int i = 0; i < EXACT_QUANTILES; i++)
		rank_search_add(&o->sought[i], ns);
}
/* The same of events, of which those count that were selected; more than were counted are passed
 * by. */
void exact_count_item(struct exact *x, const struct world *w, struct filter *sel,
		      const struct stream_item *item);
/* 1: once more; 0: over, found or (changed) not. */
int exact_next_round(struct exact *x);

/* False: not found. */
bool exact_get_quantiles(const struct exact *x, uint16_t op, uint64_t ns[EXACT_QUANTILES]);

#endif
