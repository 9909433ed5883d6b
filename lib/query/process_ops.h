/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Which functions did each process call, how long did they take, and on which GPU?" asked of a
 * stream: a sketch of durations for each pair of process and function. Memory grows with these
 * pairs.
 */
#ifndef INGERO_QUERY_PROCESS_OPS_H
#define INGERO_QUERY_PROCESS_OPS_H

#include "lib/base/err.h"
#include "lib/event/op_totals.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct process_ops;

/* w must outlive it. NULL: out of memory. */
struct process_ops *process_ops_new(const struct world *w);
int process_ops_item(struct process_ops *a, const struct stream_item *item, struct err *e);
/* The answer, borrowed until freed. NULL: out of memory. */
const struct op_totals *process_ops_end(struct process_ops *a);
void process_ops_free(struct process_ops *a);

#endif
