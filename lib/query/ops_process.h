/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a run about ops, found by the context of an event: looked up once per context.
 */
#ifndef INGERO_QUERY_OPS_PROCESS_H
#define INGERO_QUERY_OPS_PROCESS_H

#include <stdbool.h>

#include "lib/query/coverage.h"
#include "lib/base/map.h"
#include "lib/event/event.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* Zero-initialised is empty. */
struct ops_processes {
	VEC(struct ops_process) v;
	VEC(struct coverage_row) covered; /* the same places; none where nothing was paused */
	struct map by;			  /* world process -> index + 1 */
	struct map seen_ctx;		  /* world ctx -> index + 1, 0 none */
	struct map seen_thread;
};

/* The process an event belongs to, good until the next one is made; NULL for events of a CPU.
 * *nomem: set when memory ran out. */
struct ops_process *ops_processes_find(struct ops_processes *p, const struct world *w, uint32_t ctx,
				       bool *nomem);

/* A call of that process, for estimates of how many there were. False: out of memory. */
bool ops_process_count(struct ops_processes *p, const struct coverage *c,
		       const struct ops_process *of, const struct event *ev, bool failed);

void ops_processes_free(struct ops_processes *p);

#endif
