/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame has no module and no address: nothing is known of the kernel's code, only what that is
 * for.
 */
#include "lib/world/fault_stack.h"

#include <string.h>

#define NAME "page fault"

static uint32_t fault_frame(struct world *w)
{
	uint32_t frame = world_frame(w, &(struct world_frame){ .kind = FRAME_KERNEL });

	if (!world_get_symbol(w, frame))
		world_symbol(w, frame,
			     &(struct world_symbol){ .name = world_string(w, bytes_of(NAME)) });
	return frame;
}

uint32_t world_fault_stack(struct world *w, uint32_t stack)
{
	uint32_t frames[WORLD_STACK_MAX];
	unsigned n;
	const uint32_t *below = world_get_stack(w, stack, &n);

	if (!below || n == WORLD_STACK_MAX)
		return stack;
	memcpy(frames + 1, below, n * sizeof(*below));
	frames[0] = fault_frame(w);
	return world_stack_with_end(w, frames, n + 1, world_stack_end(w, stack));
}

bool world_is_fault(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);
	const struct world_symbol *s = f ? world_get_symbol(w, frame) : NULL;

	return s && f->kind == FRAME_KERNEL && bytes_equal(world_text(w, s->name), bytes_of(NAME));
}
