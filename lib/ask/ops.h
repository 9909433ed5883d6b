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

/* For who counts without events (ask/brief.h). durations: of so many events of op. False: out of memory. */
struct sketch;
bool ask_ops_counted(struct ask_ops_run *run, const struct op_def *op,
		     const struct sketch *durations);
bool ask_ops_failed(struct ask_ops_run *run, const struct op_def *op, int32_t ret);
/* times: start of the first of n events and end of the last; NULL: none. */
void ask_ops_covers(struct ask_ops_run *run, const int64_t times[2], uint64_t n, bool late,
		    uint64_t lost);

/* Quantiles to the nanosecond: x, the caller's, is told of every duration that is counted from here on. When all are
 * counted ask_ops_seek says what is sought (false: out of memory); exact.h says what then. */
struct exact;
void ask_ops_exact(struct ask_ops_run *run, struct exact *x);
struct exact *ask_ops_exact_of(const struct ask_ops_run *run); /* NULL: none */
bool ask_ops_seek(struct ask_ops_run *run);

/* Rows by a key besides: by, the caller's, is told of every event that is counted from here on (ask/by.h), and the answer
 * has its rows. */
struct ask_by;
void ask_ops_by(struct ask_ops_run *run, struct ask_by *by);

/* What the recording tells besides: view, the caller's, is told of all that comes from here on (ask/view.h), and the answer
 * has it. */
struct ask_view;
void ask_ops_view(struct ask_ops_run *run, struct ask_view *view);

/* There are no more items: waits that go on where a recording has not ended are counted, as far as they are known to go, unless
 * there were no events to tell whether they do (ask_ops_counted). */
int ask_ops_over(struct ask_ops_run *run, struct err *e);
/* Whether there are such waits. They are not in an answer before that. */
bool ask_ops_goes_on(const struct ask_ops_run *run);
/* Those that were counted: no stream has these events. */
struct stream_item ask_ops_going_on(const struct ask_ops_run *run);

/* The answer so far, borrowed until asked again. NULL: out of memory. */
const struct ops_summary *ask_ops_answer(struct ask_ops_run *run);
void ask_ops_free(struct ask_ops_run *run);

#endif
