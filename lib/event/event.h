/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event: it happened, it has ended, it is counted. All ids are ids of the struct world the
 * stream belongs to. Order of a stream is (end, node, thread, depth descending): an inner call
 * comes before the call that contains it; events without a thread sort first.
 */
#ifndef INGERO_EVENT_EVENT_H
#define INGERO_EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/op.h"

struct event {
	int64_t end_ns;	  /* on the recording's clock (CLOCK_MONOTONIC of the traced kernel) */
	uint64_t dur_ns;  /* start = end_ns - dur_ns; 0 for instants */
	uint16_t op;	  /* op number, see event/op.h; world_op() has its definition */
	uint16_t depth;	  /* how many calls are open around it on its thread */
	int32_t ret;	  /* return code of a call; 0 for everything else */
	uint32_t ctx;	  /* world ctx id: node, image, thread, cgroup, gpu; 0 unknown */
	uint32_t stack;	  /* world stack id, 0 when none was taken */
	uint32_t present; /* bit i: x[i] holds a value; absent is not zero */
	uint32_t site;	  /* where the stream defines what it has in common with others: a hint, 0
			     unknown */
	uint64_t x[OP_COLUMNS_MAX]; /* the op's extra columns, in the order of its definition */
};

static inline int64_t event_start(const struct event *ev)
{
	return ev->end_ns - (int64_t)ev->dur_ns;
}

/* Whether a call that returned ret failed. "Not yet" is an answer to a query: cudaErrorNotReady and
 * CUDA_ERROR_NOT_READY are 600, ncclInProgress is 7; PyTorch's allocator alone gets thousands of
 * them. */
static inline bool event_failed(uint16_t op, int32_t ret)
{
	return ret != 0 && ret != (op >> 8 == SOURCE_NCCL ? 7 : 600);
}

/* Value of column col; false (and *value untouched) when the op has no such column or it is absent
 * here. */
bool event_get(const struct event *ev, const struct op_def *def, uint16_t col, uint64_t *value);
/* The same; `absent` where it does not have it. */
static inline uint64_t event_get_or(const struct event *ev, const struct op_def *def, uint16_t col,
				    uint64_t absent)
{
	uint64_t v;

	return event_get(ev, def, col, &v) ? v : absent;
}

/* Set column col of an event whose op is def; ignored when the op has no such column. */
void event_set(struct event *ev, const struct op_def *def, uint16_t col, uint64_t value);

/* Name of return code ret for an event of this source ("cudaErrorMemoryAllocation"); NULL when
 * unknown or success. */
const char *event_error_name(uint8_t source, int32_t ret);

#endif
