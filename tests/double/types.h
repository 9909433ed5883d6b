/* SPDX-License-Identifier: Apache-2.0 */
/* Types by value or by pointer that both layers of the double pass around. */
#ifndef TESTS_DOUBLE_TYPES_H
#define TESTS_DOUBLE_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct dim3 {
	unsigned x, y, z;
};

struct extent {
	size_t width, height, depth;
};

struct pitched {
	void *p;
	size_t pitch, width, height;
};

/* CUlaunchConfig; the runtime's differs only in the width of the shared memory size. */
struct launch_config_driver {
	unsigned grid[3], block[3], shared_bytes;
	void *stream, *attributes;
	unsigned nattributes;
};

struct launch_config_runtime {
	struct dim3 grid, block;
	size_t shared_bytes;
	void *stream, *attributes;
	unsigned nattributes;
};

/* CUDA_MEMCPY2D of the public cuda.h; memory types: 1 host, 2 device, 3 array, 4 unified. */
struct copy2d {
	size_t src_x, src_y;
	unsigned src_type;
	const void *src_host;
	uint64_t src_device;
	void *src_array;
	size_t src_pitch, dst_x, dst_y;
	unsigned dst_type;
	void *dst_host;
	uint64_t dst_device;
	void *dst_array;
	size_t dst_pitch, width, height;
};

/* CUgraphExecUpdateResultInfo and the runtime's */
struct update_result {
	int result; /* 0: success */
	void *error_node, *error_from_node;
};

#endif
