/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uvloop's own functions are no Python: there asyncio's runner is the innermost frame. That of
 * Python takes turns in _run_once, which calls _run for a task and everything else for itself: a
 * selector, the time, the order of timers.
 */
#include "lib/world/event_loop.h"

#include <string.h>

#include "lib/world/python_code.h"

static bool lies_in(struct bytes file, const char *folder)
{
	return bytes_have(file, folder);
}

/* What starts tasks, and what runs one of them. */
static bool is_runner(struct bytes name)
{
	static const char *const names[] = { "run", "run_until_complete", "run_forever", "_run" };

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

enum event_loop_place event_loop_enter(const struct world *w, uint32_t frame,
				       enum event_loop_place around)
{
	const struct world_frame *f = world_get_frame(w, frame);
	bool asyncio;
	struct bytes file, name;

	if (!f || f->kind != FRAME_PYTHON)
		return around;
	file = world_text(w, f->file);
	name = short_name(world_text(w, f->name));
	asyncio = lies_in(file, "/asyncio/");
	if (around == EVENT_LOOP_TURNS)
		return asyncio && bytes_equal(name, bytes_of("_run")) ? EVENT_LOOP_RUNS : around;
	if (asyncio && bytes_equal(name, bytes_of("_run_once")))
		return EVENT_LOOP_TURNS;
	if (asyncio && is_runner(name))
		return EVENT_LOOP_RUNS;
	return EVENT_LOOP_NONE;
}

bool event_loop_waits(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	enum event_loop_place place = EVENT_LOOP_NONE;

	for (unsigned i = frames ? n : 0; i-- > 0;)
		place = event_loop_enter(w, frames[i], place);
	return place;
}

uint32_t event_loop_task(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	enum event_loop_place place = EVENT_LOOP_NONE;
	bool inside = false;

	for (unsigned i = frames ? n : 0; i-- > 0;) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (!f || f->kind != FRAME_PYTHON)
			continue;
		place = event_loop_enter(w, frames[i], place);
		inside |= place != EVENT_LOOP_NONE;
		if (!place && inside && f->code == PYTHON_OWN)
			return frames[i];
	}
	return 0;
}
