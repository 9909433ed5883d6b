/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How it went over time: how long each op took, and in which states the threads were that make
 * calls, in equal spans which double when there are too many. Memory is bounded by TIME_BUCKETS_OPS
 * ops, met first, of VIEW_COURSE spans each.
 */
#ifndef INGERO_QUERY_TIME_BUCKETS_H
#define INGERO_QUERY_TIME_BUCKETS_H

#include <stdbool.h>

#include "lib/event/event.h"
#include "lib/event/section_rows.h"
#include "lib/attrib/line.h"

#define TIME_BUCKETS_OPS 96

struct query_time_buckets;

struct query_time_buckets *query_time_buckets_new(void); /* NULL: out of memory */
void query_time_buckets_free(struct query_time_buckets *c);

/* All false when out of memory. An event with a duration counts where it ended. */
bool query_time_buckets_event(struct query_time_buckets *c, const struct event *ev,
			      const struct op_def *op);
/* A stretch that tiles its thread's time, spread over the spans it lies in. */
bool query_time_buckets_piece(struct query_time_buckets *c, const struct line_piece *p);

/* courses and states of the view, emptied before. */
bool query_time_buckets_rows(const struct query_time_buckets *c, struct view *v);

#endif
