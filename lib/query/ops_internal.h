/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer about ops is made of (ops.c).
 */
#ifndef INGERO_QUERY_OPS_INTERNAL_H
#define INGERO_QUERY_OPS_INTERNAL_H

#include <stdbool.h>

#include "lib/base/map.h"
#include "lib/event/event.h"
#include "lib/event/ops.h"
#include "lib/event/record.h"
#include "lib/query/coverage.h"
#include "lib/query/ops_process.h"
#include "lib/stat/sketch.h"
#include "lib/world/world.h"

/*
 * One row of an answer about ops while it grows: what is summed up as events come, and what is
 * computed from the distribution of their durations when the answer is used.
 */

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

/*
 * What there was of calls that were recorded for a part of the time, in an answer about ops.
 */

/* brief: counted without processes (query/brief.h). */
struct estimate ops_estimate_row(const struct coverage *c, const struct world *w,
				 const struct ops_row *row, const struct coverage_row *covered,
				 bool brief);
/* Of the process at this place. */
struct estimate ops_estimate_process(const struct coverage *c, const struct world *w,
				     const struct ops_processes *processes, size_t at);
/* Lists which tiers were paused in the time that is looked at, and for how much of it. False: out
 * of memory. */
bool ops_estimates_add_paused(struct ops_summary *a, const struct coverage *c);

/*
 * What records say about the recording, kept in the answer about its ops: host, clock, what was
 * attached, the node's samples. The newest statement holds.
 */

/* Texts become strings of w. metrics: where in the answer's each is, by metric << 32 | node, and
 * where each library is in theirs. False: out of memory. */
bool ops_facts_add_record(struct ops_summary *a, struct map *metrics, struct world *w,
			  const struct record *rec);

/* Before it is looked at: its metrics by number and node, and metrics says where they are now.
 * False: out of memory. */
bool ops_facts_sort(struct ops_summary *a, struct map *metrics);

/*
 * The order of a summary's rows: as people read them.
 */

/* Rows by layer, most time first; processes by time in calls. */
void ops_rows_sort(struct ops_summary *s);

/*
 * Which kernels are launched, by each launching call: a function of the GPU is known by its handle,
 * which means something in its process only, and by its name, which the recording tells beside the
 * events. Rows of one name are one kernel, whoever launches it. Memory is bounded by the number of
 * kernels.
 */

struct query_kernels;

/* w must outlive it. NULL: out of memory. */
struct query_kernels *query_kernels_new(struct world *w);
void query_kernels_free(struct query_kernels *k);

/* What was recorded of the time, by which counts are estimated; it must outlive k. */
void query_kernels_set_coverage(struct query_kernels *k, const struct coverage *c);

/* A launch of this process (world id); what launches no function is passed over. Names may come
 * later. False: out of memory. */
bool query_kernels_event(struct query_kernels *k, const struct event *ev, const struct op_def *op,
			 uint32_t process);
bool query_kernels_record(struct query_kernels *k, const struct record *rec);

/* By op, most time first; names are demangled. Appended to *rows. False: out of memory. */
bool query_kernels_rows(const struct query_kernels *k, struct ops_kernels *rows);

/*
 * The causes that a stream says were found in it, one line each, for who shows other things mainly:
 * the newest revision of each, in memory that does not grow with revisions. Who wants more of them
 * asks chains.h.
 */

/* Takes CHAIN records, ignores others. False: out of memory. */
bool query_findings_record(struct ops_summary *s, const struct record *rec);
/* Most severe first, then most lost. */
void query_findings_sort(struct ops_summary *s);
void query_findings_free(struct ops_summary *s);

#endif
