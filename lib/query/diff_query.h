/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "What changed?" asked of two recordings that were analyzed and counted.
 */
#ifndef INGERO_QUERY_DIFF_QUERY_H
#define INGERO_QUERY_DIFF_QUERY_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/event/groups.h"
#include "lib/event/chain.h"
#include "lib/event/diff.h"
#include "lib/event/ops.h"
#include "lib/filter/filter.h"

struct input;

/* One recording, read, analyzed and counted. */
struct query_diff_source;

/* What is asked of it. */
struct query_diff_options {
	bool causes;	 /* analyzed, and all ops counted; otherwise counted by a key only */
	enum by_key key; /* rows that read the same are one */
	bool calls_only; /* of those rows */
	/* Called between two items of in; an error ends the reading. May be NULL. */
	int (*between)(void *ctx, struct input *in, struct err *e);
	void *ctx;
};

/* Reads all of it. words: the part asked for (for causes: times only), borrowed. NULL *out on
 * error. */
int query_diff_read(struct query_diff_source **out, const char *name,
		    const struct filter_words *words, const struct query_diff_options *want,
		    struct err *e);
/* Whether it was damaged or cut; why, a line each, appended to notes. */
bool query_diff_damaged(const struct query_diff_source *s, struct buf *notes);
/* Both, of which those that were read are the caller's on error too. *damaged, notes: as
 * query_diff_damaged has it, of either. */
int query_diff_read_both(struct query_diff_source *sides[DIFF_SIDES], char *const *names,
			 const struct filter_words *words, const struct query_diff_options *want,
			 bool *damaged, struct buf *notes, struct err *e);
/* Its chains, for query_select_chains. */
const struct chain_list *query_diff_chains(const struct query_diff_source *s);
/* What it holds, its rows by a key among that; and the world of their names. */
const struct ops_summary *query_diff_ops(const struct query_diff_source *s);
const struct world *query_diff_world(const struct query_diff_source *s);
const char *query_diff_name(const struct query_diff_source *s);
void query_diff_source_free(struct query_diff_source *s);

/* The sources must outlive the diff. */
int query_diff(struct diff *d, struct query_diff_source *const sides[DIFF_SIDES], struct err *e);
void query_diff_free(struct diff *d);

#endif
