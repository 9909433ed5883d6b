/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a report shows of a stream, in one query: its causes, the calls that failed, and where
 * the CPU was used.
 */
#ifndef INGERO_QUERY_REPORT_QUERY_H
#define INGERO_QUERY_REPORT_QUERY_H

#include "lib/query/chains.h"
#include "lib/event/failure.h"
#include "lib/event/oncpu.h"

struct report_query;

struct report_answer {
	const struct query_chains *chains;
	const struct failures *failures; /* NULL if only causes were asked for, as oncpu */
	const struct oncpu *oncpu;
};

/* w must outlive it. complete: not only causes. NULL: out of memory. */
struct report_query *report_query_new(struct world *w, bool complete);
int report_query_item(struct report_query *a, const struct stream_item *item, struct err *e);
/* As query_chains_ongoing_wait. */
bool report_query_ongoing_wait(struct report_query *a, const struct record *r, int64_t now_ns,
			       struct buf *out);
/* No more items: fills in answer, which points into the query. */
int report_query_end(struct report_query *a, struct report_answer *answer, struct err *e);
void report_query_free(struct report_query *a);

#endif
