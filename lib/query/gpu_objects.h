/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU memory by the call sites that allocated it, and executable graphs by those that created them.
 * The accounting is done by gpustate/allocations.h and gpustate/graphs.h, which bound the memory.
 */
#ifndef INGERO_QUERY_GPU_OBJECTS_H
#define INGERO_QUERY_GPU_OBJECTS_H

#include "lib/event/section_rows.h"
#include "lib/gpustate/graphs.h"
#include "lib/gpustate/allocations.h"

/* Zero-initialised is empty. */
struct query_gpu_objects {
	struct live *live;
	struct graphs *graphs;
};

/* memory, graphs: what is wanted. False, as all here: out of memory. */
bool query_gpu_objects_start(struct query_gpu_objects *l, const struct world *w, bool memory,
			     bool graphs);
bool query_gpu_objects_event(struct query_gpu_objects *l, const struct event *ev,
			     const struct op_def *op);
/* Everything that ended before this is accounted for; INT64_MAX: everything. */
bool query_gpu_objects_advance(struct query_gpu_objects *l, int64_t before_ns);
/* memory and graphs of the view, emptied before: those of processes that `wanted` says yes to. */
bool query_gpu_objects_rows(const struct query_gpu_objects *l, struct world *w,
			    bool (*wanted)(const void *ctx, uint32_t process), const void *ctx,
			    struct view *v);
void query_gpu_objects_free(struct query_gpu_objects *l);

#endif
