/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lives in a device between calls: memory by the call sites that hold it, and executable graphs by those that made
 * them. Thin: gpustate/live.h and gpustate/graphs.h do the accounting, and bound the memory.
 */
#ifndef INGERO_ASK_LIVES_H
#define INGERO_ASK_LIVES_H

#include "lib/event/section_rows.h"
#include "lib/gpustate/graphs.h"
#include "lib/gpustate/allocations.h"

/* Zero-initialised is empty. */
struct ask_lives {
	struct live *live;
	struct graphs *graphs;
};

/* memory, graphs: what is wanted. False, as all here: out of memory. */
bool ask_lives_start(struct ask_lives *l, const struct world *w, bool memory, bool graphs);
bool ask_lives_event(struct ask_lives *l, const struct event *ev, const struct op_def *op);
/* Everything that ended before this is accounted for; INT64_MAX: everything. */
bool ask_lives_settle(struct ask_lives *l, int64_t before_ns);
/* memory and graphs of the view, emptied before: those of processes that `wanted` says yes to. */
bool ask_lives_rows(const struct ask_lives *l, struct world *w,
		    bool (*wanted)(const void *ctx, uint32_t process), const void *ctx,
		    struct view *v);
void ask_lives_free(struct ask_lives *l);

#endif
