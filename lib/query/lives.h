/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lives in a device between calls: memory by the call sites that hold it, and executable
 * graphs by those that made them. Thin: gpustate/allocations.h and gpustate/graphs.h do the
 * accounting, and bound the memory.
 */
#ifndef INGERO_QUERY_LIVES_H
#define INGERO_QUERY_LIVES_H

#include "lib/event/section_rows.h"
#include "lib/gpustate/graphs.h"
#include "lib/gpustate/allocations.h"

/* Zero-initialised is empty. */
struct query_lives {
	struct live *live;
	struct graphs *graphs;
};

/* memory, graphs: what is wanted. False, as all here: out of memory. */
bool query_lives_start(struct query_lives *l, const struct world *w, bool memory, bool graphs);
bool query_lives_event(struct query_lives *l, const struct event *ev, const struct op_def *op);
/* Everything that ended before this is accounted for; INT64_MAX: everything. */
bool query_lives_settle(struct query_lives *l, int64_t before_ns);
/* memory and graphs of the view, emptied before: those of processes that `wanted` says yes to. */
bool query_lives_rows(const struct query_lives *l, struct world *w,
		      bool (*wanted)(const void *ctx, uint32_t process), const void *ctx,
		      struct view *v);
void query_lives_free(struct query_lives *l);

#endif
