/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of a known rank, to the last digit, among many that are seen more than once: each round
 * counts in finer steps, or keeps the values themselves once they are few. Memory is the same
 * whatever their number: 64 KiB while a search is open.
 */
#ifndef INGERO_STAT_RANK_H
#define INGERO_STAT_RANK_H

#include <stdbool.h>
#include <stdint.h>

#define RANK_ROOM 8192 /* steps or values of a round: two rounds reach every value below 2^40 */

/* Zero-initialised: free it or begin. */
struct rank_search {
	uint64_t low,
		span; /* it lies in [low, low + span]; a search that is over takes nothing more */
	uint64_t rank, n; /* 1-based among those n that lie there */
	uint64_t seen;	  /* of these, in this round */
	uint64_t *room;	  /* RANK_ROOM counts, or values in no order */
	uint64_t value;	  /* once found */
	unsigned shift;	  /* a step is 2^shift values wide */
	bool listed, found;
};

/* Of values that are known to hold n in [low, low + span]. False: out of memory. */
bool rank_search_begin(struct rank_search *s, uint64_t low, uint64_t span, uint64_t rank,
		       uint64_t n);
void rank_search_free(struct rank_search *s);

void rank_search_take_(struct rank_search *s, uint64_t v);
static inline void rank_search_add(struct rank_search *s, uint64_t v)
{
	if (v - s->low <= s->span)
		rank_search_take_(s, v);
}

/* All were added: 1 once more, all of them; 0 over; -1 they are not the n values they were: over,
 * not found. */
int rank_search_round(struct rank_search *s);

#endif
