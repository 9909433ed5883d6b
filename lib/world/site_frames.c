/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps each stack to the frame that names its call site. A name that arrives late does not change a
 * site that was looked up before, so that sums over it stay complete.
 */
#include "lib/world/site_frames.h"

#include "lib/world/call_site.h"

uint32_t site_frames_get(struct site_frames *f, const struct world *w, uint32_t stack)
{
	uint64_t frame;

	if (stack == 0)
		return 0;
	if (map_get(&f->by, stack, &frame))
		return (uint32_t)frame;
	frame = call_site_frame(w, stack);
	map_put(&f->by, stack, frame); /* where that fails it is looked up again */
	return (uint32_t)frame;
}
