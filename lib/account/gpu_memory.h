/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device says of its memory, from samples: how much of it everybody together uses, and how
 * much there is.
 */
#ifndef INGERO_ACCOUNT_GPU_MEMORY_H
#define INGERO_ACCOUNT_GPU_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/record.h"

#define GPU_MEMORY_DEVICES 64

/* Zero-initialised is empty. */
struct gpu_memory {
	uint64_t used_most; /* of a device, by everybody, whenever it was sampled */
	unsigned n;
	struct gpu_memory_device {
		uint32_t gpu; /* world id */
		bool has_used, has_total;
		int64_t used_ns; /* when it was last sampled */
		uint64_t used, total;
	} v[GPU_MEMORY_DEVICES];
};

void gpu_memory_record(struct gpu_memory *m, const struct record *r);

/* The device; gpu 0: the only one there is. NULL: not known, or not which one. */
const struct gpu_memory_device *gpu_memory_of(const struct gpu_memory *m, uint32_t gpu);

#endif
