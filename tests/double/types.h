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

#endif
