/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operations of the host were about: who had the CPU or held the lock while a thread
 * waited, in which system call it slept, which file, device or socket it was. Every off-CPU
 * interval is split among those who took of it and the call it slept in, so that the times sum up
 * to the operation's total. Memory is bounded by DETAILS_MAX of them; what is beyond is not
 * reported.
 */
#ifndef INGERO_QUERY_EVENT_DETAILS_H
#define INGERO_QUERY_EVENT_DETAILS_H

#include "lib/event/event.h"
#include "lib/event/syscall.h"
#include "lib/event/section_rows.h"
#include "lib/attrib/culprit.h"
#include "lib/attrib/line.h"
#include "lib/world/late_names.h"

struct query_detail {
	struct view_detail row;
	uint64_t id, more; /* as about says */
	uint32_t thread;   /* of a task: the first one met */
};

/* Zero-initialised is empty. */
struct query_details {
	VEC(struct query_detail) v;
	struct map by;
	enum syscall_arch arch;
};

/* An event of the host; of off-CPU intervals only those that line/ did not take, as too late.
 * False, as all here: out of memory. */
bool query_details_event(struct query_details *d, const struct world *w, const struct event *ev,
			 const struct op_def *op);
/* An off-CPU interval and its parts. */
bool query_details_offcpu(struct query_details *d, const struct line_piece *p);
void query_details_record(struct query_details *d, const struct record *rec);

/* details of the view, emptied before. culprits: of the analysis that made the spans. */
bool query_details_rows(const struct query_details *d, struct world *w,
			const struct late_names *late_names, const struct culprits *culprits,
			struct view *v);
void query_details_free(struct query_details *d);

#endif
