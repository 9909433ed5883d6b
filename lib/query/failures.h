/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Which calls returned an error?" asked of a stream. Memory is bounded by 1,024 different ones,
 * each an op, a code and a process; what is beyond is counted.
 */
#ifndef INGERO_QUERY_FAILURES_H
#define INGERO_QUERY_FAILURES_H

#include "lib/base/err.h"
#include "lib/event/failure.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct query_failures;

struct query_failures *query_failures_new(
	const struct world *w); /* w must outlive it. NULL: out of memory. */
int query_failures_item(struct query_failures *a, const struct stream_item *item, struct err *e);

/* No more items: the answer, borrowed. NULL: out of memory. */
const struct failures *query_failures_end(struct query_failures *a);
void query_failures_free(struct query_failures *a);

#endif
