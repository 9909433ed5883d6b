/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts calls once over the layers: cudaLaunchKernel and the cuLaunchKernel in it are one launch.
 * Calls come in the order of their ends, so what lies in a call comes before it: calls of depth 1
 * and more wait for those around them. Memory is bounded by threads.
 */
#ifndef INGERO_QUERY_LAYERS_H
#define INGERO_QUERY_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct layer_call {
	uint32_t slot;	/* the caller's: where it is counted */
	uint32_t class; /* an inner call of the class of an outer one is the same call */
	uint32_t process;
	uint16_t op;
	unsigned depth;
	int64_t start_ns;
	uint64_t dur_ns;
	bool failed;
};

/* False: out of memory. */
typedef bool layers_count(void *ctx, const struct layer_call *call);
typedef void layers_fold(void *ctx, const struct layer_call *inner, const struct layer_call *outer);

struct layers_thread;

/* Zero-initialised is empty, once the functions are set. */
struct layers {
	layers_count *count; /* this call counts */
	layers_fold *fold;   /* inner is outer in another layer, and does not; may be NULL */
	void *ctx;
	VEC(struct layers_thread *) threads; /* by world id; NULL: no call of it ever waited */
};

/* The next call of a thread (world id). False: out of memory. */
bool layers_add(struct layers *l, uint32_t thread, const struct layer_call *call);
/* No more calls come: those count whose outer calls never ended. */
bool layers_flush(struct layers *l);
void layers_free(struct layers *l);

#endif
