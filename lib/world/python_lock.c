/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's Modules/_threadmodule.c has the two functions, whose names a compiler may have given an
 * ending. Lib/threading.py makes conditions, events and semaphores of locks: there a thread waits
 * for others to do something, but for `with` of a condition, which takes its lock.
 */
#include "lib/world/python_lock.h"

#include <string.h>

static bool takes_lock(const struct world *w, uint32_t frame)
{
	const struct world_symbol *s = world_get_symbol(w, frame);
	struct bytes name = s ? world_text(w, s->name) : (struct bytes){ 0 };

	return bytes_begin_with(name, "lock_PyThread_acquire_lock") ||
	       bytes_begin_with(name, "rlock_acquire");
}

bool python_lock_waits(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	bool takes = false;

	for (unsigned i = 0; frames && i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (!f)
			continue;
		if (f->kind == FRAME_PYTHON)
			return takes && (!bytes_end_with(world_text(w, f->file), "/threading.py") ||
					 bytes_end_with(world_text(w, f->name), "__enter__"));
		takes |= takes_lock(w, frames[i]);
	}
	return false;
}
