/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of an answer about ops while it grows: what is summed up as events come, and what is
 * computed from the distribution of their durations when the answer is used.
 */
#ifndef INGERO_QUERY_OPS_COUNTER_H
#define INGERO_QUERY_OPS_COUNTER_H

#include <stdbool.h>

#include "lib/query/coverage.h"
#include "lib/base/map.h"
#include "lib/event/event.h"
#include "lib/event/ops.h"
#include "lib/stat/sketch.h"

struct exact;
struct exact_op;

struct ops_counter {
	struct ops_row row;
	struct sketch durations;
	struct coverage_row covered;
	struct exact_op *exact; /* NULL: exact quantiles were not requested */
};

/* Zero-initialised is empty. */
struct ops_counters {
	VEC(struct ops_counter) v;
	struct map by; /* op number -> index */
};

/* Good until the next one is made. NULL: out of memory. */
struct ops_counter *ops_counters_find(struct ops_counters *c, const struct op_def *op);

/* A duration. False: out of memory. */
bool ops_counter_add(struct ops_counter *c, struct exact *x, uint64_t dur_ns);
/* A call on a GPU (world id, 0 unknown). */
void ops_counter_add_gpu(struct ops_counter *c, uint32_t gpu, const struct event *ev);

/* The row as it is now. */
struct ops_row ops_counter_row(const struct ops_counter *c, const struct exact *x);

void ops_counters_free(struct ops_counters *c);

#endif
