/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "What got slower?" asked of two recordings that were counted (ask/diff.h reads them).
 */
#ifndef INGERO_ASK_COMPARE_QUERY_H
#define INGERO_ASK_COMPARE_QUERY_H

#include "lib/ask/diff_query.h"
#include "lib/event/compare.h"

/* The sources, read with the same key, must outlive the answer. threshold: a share. */
int ask_compare(struct compare *c, struct ask_diff_source *const sides[DIFF_SIDES],
		const struct ask_diff_want *want, double threshold, struct err *e);
void ask_compare_free(struct compare *c);

#endif
