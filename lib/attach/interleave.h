/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stack of two: native frames, some of which are the Python interpreter's loop, and the Python
 * frames that the same thread executes. Each loop executes the Python frames from where C code
 * called it inward, so they stand in front of it. Where the native walk ended early (code without
 * frame pointers), the Python frames that are left follow a frame that says so: their order among
 * the missing native ones is not known.
 */
#ifndef INGERO_ATTACH_INTERLEAVE_H
#define INGERO_ATTACH_INTERLEAVE_H

#include <stdbool.h>
#include <stdint.h>

/* A frame of either kind, innermost first. */
struct probe_part {
	uint32_t frame; /* world */
	bool mark; /* native: it is the interpreter's loop; Python: C code called the interpreter
		      here */
};

/* gap: frame for missing native ones; 0: nothing was missing. Returns how many frames out got, max
 * at most. */
unsigned probe_interleave(uint32_t *out, unsigned max, const struct probe_part *native,
			  unsigned nnative, const struct probe_part *python, unsigned npython,
			  uint32_t gap);

#endif
