/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Where was the CPU used?" asked of a stream with CPU samples. Memory is bounded by 262,144
 * different pairs of thread and stack, samples of further ones are counted, and by CPU_SAMPLES_KEPT
 * samples with their times.
 */
#ifndef INGERO_QUERY_ONCPU_H
#define INGERO_QUERY_ONCPU_H

#include "lib/base/err.h"
#include "lib/event/oncpu.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct query_oncpu;

struct query_oncpu *query_oncpu_new(
	const struct world *w); /* w must outlive it. NULL: out of memory. */
int query_oncpu_item(struct query_oncpu *a, const struct stream_item *item, struct err *e);

/* No more items: the answer, borrowed, of the steps; NULL: of everything. NULL: out of memory. */
const struct oncpu *query_oncpu_end(struct query_oncpu *a, const struct oncpu_window *steps);
void query_oncpu_free(struct query_oncpu *a);

#endif
