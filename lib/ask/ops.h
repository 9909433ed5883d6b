/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "How often, how long?" asked of a stream: one row per op, one per process, and what the
 * recording covers. A call inside a call is counted for itself; its time is part of the outer
 * call's total, and of no other call's own time. Memory is bounded by ops, processes, threads and
 * the spread of durations. Can be asked at any moment while the stream runs.
 */
#ifndef INGERO_ASK_OPS_H
#define INGERO_ASK_OPS_H

#include "lib/base/err.h"
#include "lib/event/ops.h"
#include "lib/event/stream.h"
#include "lib/select/select.h"
#include "lib/world/world.h"

struct ask_ops_run;

/* w and sel must outlive the run. NULL: out of memory. */
struct ask_ops_run *ask_ops_new(struct world *w, struct select *sel);
int ask_ops_item(struct ask_ops_run *run, const struct stream_item *item, struct err *e);

/* The answer so far, borrowed until asked again. NULL: out of memory. */
const struct ops_summary *ask_ops_answer(struct ask_ops_run *run);
void ask_ops_free(struct ask_ops_run *run);

#endif
