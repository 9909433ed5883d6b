/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges native and Python frames of one thread into one stack.
 */
#include "lib/attach/interleave.h"

unsigned probe_interleave(uint32_t *out, unsigned max, const struct probe_part *native,
			  unsigned nnative, const struct probe_part *python, unsigned npython,
			  uint32_t gap)
{
	unsigned n = 0, k = 0;

	for (unsigned i = 0; i < nnative && n < max; i++) {
		if (native[i].mark)
			while (k < npython && n < max) {
				out[n++] = python[k].frame;
				if (python[k++].mark)
					break;
			}
		if (n < max)
			out[n++] = native[i].frame;
	}
	if (k < npython && nnative && gap && n < max)
		out[n++] = gap;
	while (k < npython && n < max)
		out[n++] = python[k++].frame;
	return n;
}
