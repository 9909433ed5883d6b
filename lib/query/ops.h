/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "How often, how long?" asked of a stream: one row per op, one per process, and what the
 * recording covers. A call inside a call is counted for itself; its time is part of the outer
 * call's total, and of no other call's own time. Memory is bounded by ops, processes, threads and
 * the spread of durations. Can be asked at any moment while the stream runs.
 */
#ifndef INGERO_QUERY_OPS_H
#define INGERO_QUERY_OPS_H

#include "lib/base/err.h"
#include "lib/event/ops.h"
#include "lib/event/stream.h"
#include "lib/filter/filter.h"
#include "lib/world/world.h"

struct query_ops_run;

/* w and sel must outlive the run. NULL: out of memory. */
struct query_ops_run *query_ops_new(struct world *w, struct filter *sel);
int query_ops_item(struct query_ops_run *run, const struct stream_item *item, struct err *e);

/* For counting without events (query/brief.h). durations: those of all events of op. False: out
 * of memory. */
struct sketch;
bool query_ops_add_counts(struct query_ops_run *run, const struct op_def *op,
			  const struct sketch *durations);
bool query_ops_add_failure(struct query_ops_run *run, const struct op_def *op, int32_t ret);
/* times: start of the first of n events and end of the last; NULL: none. */
void query_ops_add_block(struct query_ops_run *run, const int64_t times[2], uint64_t n, bool late,
			 uint64_t lost);

/* Quantiles to the nanosecond: x, the caller's, receives every duration that is counted from here
 * on. When all are counted, query_ops_start_search sets the ranks to find (false: out of memory);
 * exact.h describes the rest. */
struct exact;
void query_ops_set_exact(struct query_ops_run *run, struct exact *x);
struct exact *query_ops_get_exact(const struct query_ops_run *run); /* NULL: none */
bool query_ops_start_search(struct query_ops_run *run);

/* Rows by a key in addition: by, the caller's, receives every event that is counted from here on
 * (query/group_by.h), and the answer has its rows. */
struct query_by;
void query_ops_set_group_by(struct query_ops_run *run, struct query_by *by);

/* Further sections of the answer: view, the caller's, receives all items from here on
 * (query/sections.h), and the answer refers to it. */
struct query_view;
void query_ops_set_sections(struct query_ops_run *run, struct query_view *view);

/* There are no more items: waits that go on where a recording has not ended are counted, as far as
 * they are known to go, unless there were no events to tell whether they do (query_ops_add_counts).
 */
int query_ops_end(struct query_ops_run *run, struct err *e);
/* Whether there are such waits. They are not in an answer before that. */
bool query_ops_has_ongoing(const struct query_ops_run *run);
/* Those that were counted: no stream has these events. */
struct stream_item query_ops_ongoing_item(const struct query_ops_run *run);

/* The answer so far, borrowed until asked again. NULL: out of memory. */
const struct ops_summary *query_ops_answer(struct query_ops_run *run);
void query_ops_free(struct query_ops_run *run);

#endif
