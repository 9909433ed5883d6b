/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "How often, how long, how much?" asked of recordings by name: opens them, reads them to their end
 * into a run of query/ops.h, and finds exact quantiles where they are wanted. Whoever asks may look
 * at the answer in between.
 */
#ifndef INGERO_QUERY_STAT_H
#define INGERO_QUERY_STAT_H

#include "lib/query/brief.h"
#include "lib/query/group_by.h"
#include "lib/query/exact_find.h"
#include "lib/query/ops.h"
#include "lib/query/sections.h"
#include "lib/input/input.h"

struct query_stat_options {
	const char *const *names; /* as for input_open; borrowed, like all here */
	unsigned n;
	const struct filter_words *words; /* what is counted */
	bool brief;			  /* counts, errors and durations only */
	const char *by;			  /* a key's name; NULL: none */
	unsigned sections; /* what else, of VIEW_BIT (event/section_rows.h); none with by */
	bool exact;
	uint64_t exact_bytes;
	/* Called between two items of the input; a result other than 0 ends the reading. May be
	 * NULL. */
	int (*between)(void *ctx, struct err *e);
	void *ctx;
};

struct query_stat {
	struct query_stat_options want;
	struct world *w;
	struct filter sel;
	struct input *in;
	struct query_ops_run *run;
	struct brief *brief; /* NULL: not wanted, the same of the next two */
	struct exact *exact;
	struct query_by *by;
	struct query_view *view;
	struct exact_source again;
};

/* ERR_USAGE: these wishes do not go together. To be freed in any case. */
int query_stat_open(struct query_stat *a, const struct query_stat_options *want, struct err *e);
void query_stat_free(struct query_stat *a);

/* Reads to the end of the input. After ERR_TOO_NEW the answer holds what came before the error. */
int query_stat_read(struct query_stat *a, struct err *e);
/* The same where it is still written (input_follow) and more is read later, not brief; and when it
 * has ended after all. */
int query_stat_read_on(struct query_stat *a, struct err *e);
int query_stat_end(struct query_stat *a, struct err *e);
/* After it, where exact quantiles are wanted: an enum exact_outcome, or < 0. */
int query_stat_find_exact(struct query_stat *a, struct err *e);

/* The answer so far, borrowed until asked again. NULL: an error. */
const struct ops_summary *query_stat_answer(struct query_stat *a, struct err *e);

#endif
