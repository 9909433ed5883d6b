/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often each process called each function and how long the calls took, and which processes
 * share a GPU: what ask/ counts and emit/ prints. Plain values; texts live as long as the world
 * that they were counted in.
 */
#ifndef INGERO_EVENT_OP_TOTALS_H
#define INGERO_EVENT_OP_TOTALS_H

#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/base/vec.h"
#include "lib/event/op.h"

/* Calls of one function by one process, inner calls included. Quantiles are nearest rank, within
 * 0.4 %. */
struct op_totals_row {
	const struct op_def *op;
	uint32_t pid;
	struct bytes node; /* its machine's name, empty unknown */
	uint64_t calls, total_ns, p50_ns, p95_ns, p99_ns, max_ns;
};

/* A process that made calls on a GPU. */
struct op_totals_use {
	uint32_t gpu; /* world id, 0: the recording does not say which */
	uint32_t index;
	struct bytes gpu_name, node, comm; /* empty unknown */
	uint32_t pid;
};

struct op_totals {
	VEC(struct op_totals_row) rows; /* of a process in the order of their totals, most first */
	VEC(struct op_totals_use) uses; /* of a GPU one after another */
};

#endif
