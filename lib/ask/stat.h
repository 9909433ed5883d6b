/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "How often, how long, how much?" asked of recordings by name: opens them, reads them to their end into a run of
 * ask/ops.h, and finds exact quantiles where they are wanted. Whoever asks may look at the answer in between.
 */
#ifndef INGERO_ASK_STAT_H
#define INGERO_ASK_STAT_H

#include "lib/ask/brief.h"
#include "lib/ask/group_by.h"
#include "lib/ask/exact_find.h"
#include "lib/ask/ops.h"
#include "lib/ask/sections.h"
#include "lib/input/input.h"

struct ask_stat_want {
	const char *const *names; /* as for input_open; borrowed, like all here */
	unsigned n;
	const struct select_words *words; /* what is counted */
	bool brief;			  /* counts, errors and durations only */
	const char *by;			  /* a key's name; NULL: none */
	unsigned sections;		  /* what else, of VIEW_BIT (event/view.h); none with by */
	bool exact;
	uint64_t exact_bytes;
	/* Between two items of the input; what is not 0 ends the reading. NULL: nobody wants to know. */
	int (*between)(void *ctx, struct err *e);
	void *ctx;
};

struct ask_stat {
	struct ask_stat_want want;
	struct world *w;
	struct select sel;
	struct input *in;
	struct ask_ops_run *run;
	struct brief *brief; /* NULL: not wanted, the same of the next two */
	struct exact *exact;
	struct ask_by *by;
	struct ask_view *view;
	struct exact_source again;
};

/* ERR_USAGE: these wishes do not go together. To be freed in any case. */
int ask_stat_open(struct ask_stat *a, const struct ask_stat_want *want, struct err *e);
void ask_stat_free(struct ask_stat *a);

/* To the end of the input. What came before an error can still be told, when it is ERR_TOO_NEW. */
int ask_stat_read(struct ask_stat *a, struct err *e);
/* The same where it is still written (input_follow) and more is read later, not brief; and when it has ended after all. */
int ask_stat_read_on(struct ask_stat *a, struct err *e);
int ask_stat_over(struct ask_stat *a, struct err *e);
/* After it, where exact quantiles are wanted: an enum exact_outcome, or < 0. */
int ask_stat_exact(struct ask_stat *a, struct err *e);

/* The answer so far, borrowed until asked again. NULL: an error. */
const struct ops_summary *ask_stat_answer(struct ask_stat *a, struct err *e);

#endif
