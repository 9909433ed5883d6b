/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's Modules/_threadmodule.c has the two functions, whose names a compiler may have given an
 * ending. Lib/threading.py makes conditions, events and semaphores of locks: there a thread waits
 * for others to do something, but for `with` of a condition, which takes its lock.
 */
#include "lib/world/lock_stack.h"

#include <string.h>

static bool takes_lock(const struct world *w, uint32_t frame)
{
	const struct world_symbol *s = world_get_symbol(w, frame);
	struct bytes name = s ? world_text(w, s->name) : (struct bytes){ 0 };

	return bytes_begin_with(name, "lock_PyThread_acquire_lock") ||
	       bytes_begin_with(name, "rlock_acquire");
}

/* The functions that one calls; the C library's own names may have an ending. */
static bool takes_rwlock(const struct world *w, uint32_t frame)
{
	static const char *const begins[] = { "pthread_rwlock_", "__pthread_rwlock_" };
	static const char *const ends[] = { "rdlock", "wrlock" };
	const struct world_symbol *s = world_get_symbol(w, frame);
	struct bytes name = s ? world_text(w, s->name) : (struct bytes){ 0 };

	for (unsigned i = 0; i < 2; i++)
		if (bytes_begin_with(name, begins[i]))
			return bytes_have(name, ends[0]) || bytes_have(name, ends[1]);
	return false;
}

bool lock_stack_waits(const struct world *w, uint32_t stack)
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
		if (takes_rwlock(w, frames[i]))
			return true;
		takes |= takes_lock(w, frames[i]);
	}
	return false;
}
