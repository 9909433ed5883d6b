/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts, errors and quantiles without events: blocks are counted from two of their columns into a
 * run of query/ops.h, which takes records and all else as usual. What needs single events is not
 * known then: self time, lost time, processes, open calls.
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
int brief_count_block(struct brief *b, const struct ige_arrays *a, struct ige_dict_reader *dict,
		      struct err *e);

/* Counts the block again for the quantiles that the run's exact.h searches: brief_restart_exact
 * before the first block of each round. */
void brief_restart_exact(struct brief *b);
int brief_count_exact(struct brief *b, const struct ige_arrays *a, struct ige_dict_reader *dict,
		      struct err *e);

/* Adds the counts since the last flush to the run; to be called before its answer is used. */
int brief_flush(struct brief *b, struct err *e);

#endif
