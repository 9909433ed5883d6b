/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uvloop's own functions are no Python: there asyncio's runner is the innermost frame. A selector
 * is waited for by others, too, and counts only below a function of asyncio.
 */
#include "lib/world/event_loop.h"

#include <string.h>

#include "lib/world/python_code.h"

static bool lies_in(struct bytes file, const char *folder)
{
	return bytes_have(file, folder);
}

static bool is_runner(struct bytes name)
{
	static const char *const names[] = { "run", "run_until_complete", "run_forever",
					     "_run_once", "_run" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bytes_equal(name, bytes_of(names[i])))
			return true;
	return false;
}

/* Without its class. */
static struct bytes short_name(struct bytes name)
{
	const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;
	size_t before = dot ? (size_t)(dot + 1 - name.p) : 0;

	return dot ? (struct bytes){ dot + 1, name.n - before } : name;
}

bool event_loop_has_frame(const struct world *w, uint32_t frame, bool inside)
{
	const struct world_frame *f = world_get_frame(w, frame);
	struct bytes file, name;

	if (!f || f->kind != FRAME_PYTHON)
		return false;
	file = world_text(w, f->file);
	name = short_name(world_text(w, f->name));
	if (lies_in(file, "/asyncio/"))
		return is_runner(name);
	return inside && lies_in(file, "/selectors.py") && bytes_equal(name, bytes_of("select"));
}

bool event_loop_waits(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	bool inside = false;

	for (unsigned i = frames ? n : 0; i-- > 0;) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (f && f->kind == FRAME_PYTHON)
			inside = event_loop_has_frame(w, frames[i], inside);
	}
	return inside;
}

uint32_t event_loop_task(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	bool inside = false;

	for (unsigned i = frames ? n : 0; i-- > 0;) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (!f || f->kind != FRAME_PYTHON)
			continue;
		if (event_loop_has_frame(w, frames[i], inside))
			inside = true;
		else if (inside && f->code == PYTHON_OWN)
			return frames[i];
	}
	return 0;
}
