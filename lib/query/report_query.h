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

struct query_report_query;

struct report_query {
	const struct query_chains *chains;
	const struct failures *failures; /* NULL, as is what follows: only causes were asked for */
	const struct oncpu *oncpu;
};

/* w must outlive it. complete: not only causes. NULL: out of memory. */
struct query_report_query *query_report_query_new(struct world *w, bool complete);
int query_report_query_item(struct query_report_query *a, const struct stream_item *item,
			    struct err *e);
/* As query_chains_stands. */
bool query_report_query_stands(struct query_report_query *a, const struct record *r, int64_t now_ns,
			       struct buf *out);
/* No more items: what it points to is borrowed until freed. */
int query_report_query_end(struct query_report_query *a, struct report_query *told, struct err *e);
void query_report_query_free(struct query_report_query *a);

#endif
