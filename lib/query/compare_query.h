/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "What got slower?" asked of two recordings that were counted (query/diff_query.h reads them).
 */
#ifndef INGERO_QUERY_COMPARE_QUERY_H
#define INGERO_QUERY_COMPARE_QUERY_H

#include "lib/query/diff_query.h"
#include "lib/event/compare.h"

/* The sources, read with the same key, must outlive the answer. threshold: a share. */
int query_compare(struct compare *c, struct query_diff_source *const sides[DIFF_SIDES],
		  const struct query_diff_options *want, double threshold, struct err *e);
void query_compare_free(struct compare *c);

#endif
