/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts, errors and quantiles without events: blocks are counted from two of their columns into a
 * run of query/ops.h, which takes records and all else as usual. What needs events one by one is
 * not known then: own and lost time, processes, open calls.
 */
#ifndef INGERO_QUERY_BRIEF_H
#define INGERO_QUERY_BRIEF_H

#include "lib/query/ops.h"
#include "lib/ige/columns.h"

#define BRIEF_WANTS (IGE_WANT(IGE_DUR) | IGE_WANT(IGE_SITE) | IGE_WANT_NO_STACKS)

struct brief;

/* NULL: out of memory. w and run must outlive it. */
struct brief *brief_new(const struct world *w, struct query_ops_run *run);
void brief_free(struct brief *b);

/* Counts one block of a reader set up by ige_reader_want(r, BRIEF_WANTS). */
int brief_block(struct brief *b, const struct ige_arrays *a, struct ige_dict_reader *dict,
		struct err *e);

/* Once more, for what the run's exact.h seeks: brief_again before the first block of each round. */
void brief_again(struct brief *b);
int brief_see(struct brief *b, const struct ige_arrays *a, struct ige_dict_reader *dict,
	      struct err *e);

/* Hand what was counted since to the run, before it is asked. */
int brief_tell(struct brief *b, struct err *e);

#endif
