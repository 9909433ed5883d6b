/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name that comes late does not change what was looked up: places stay what they were.
 */
#include "lib/cause/frames.h"

#include "lib/cause/names.h"

uint32_t cause_frame(struct cause_frames *f, const struct world *w, uint32_t stack)
{
	uint64_t frame;

	if (stack == 0)
		return 0;
	if (map_get(&f->by, stack, &frame))
		return (uint32_t)frame;
	frame = name_site_frame(w, stack);
	map_put(&f->by, stack, frame); /* where that fails it is looked up again */
	return (uint32_t)frame;
}
