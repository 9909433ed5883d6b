/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of threads went that make calls: in calls, those inside others folded, and outside
 * them, by state (event/part.h). Told of the outermost pieces of line/, which tile a thread's time.
 * Memory is bounded by threads.
 */
#ifndef INGERO_QUERY_THREAD_TIME_H
#define INGERO_QUERY_THREAD_TIME_H

#include "lib/event/section_rows.h"
#include "lib/attrib/line.h"

struct query_thread_time_entry {
	uint32_t process;
	bool calls;
	uint64_t in_calls[PART_COUNT], outside[PART_COUNT];
};

/* Zero-initialised is empty. */
struct query_thread_time {
	VEC(struct query_thread_time_entry *)
	by_thread; /* by world id; NULL: nothing is known of it */
};

/* A call at depth 0, or time outside calls. False: out of memory. */
bool query_thread_time_piece(struct query_thread_time *s, const struct line_piece *p, bool call);
/* Whether this thread has made a call by now. */
bool query_thread_time_makes_calls(const struct query_thread_time *s, uint32_t thread);
/* times of the view, emptied before, most time first. False: out of memory. */
bool query_thread_time_rows(const struct query_thread_time *s, struct view *v);
void query_thread_time_free(struct query_thread_time *s);

#endif
