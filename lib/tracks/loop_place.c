/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the loop's frame by its depth among the Python frames of a stack, outermost first. */
#include "lib/tracks/loop_place.h"

#include "lib/world/call_site.h"
#include "lib/world/python_code.h"

static struct bytes package_of(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);

	return f && f->kind == FRAME_PYTHON ? python_package_of(world_text(w, f->file))
					    : (struct bytes){ 0 };
}

static bool is_same_function(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_frame *x = world_get_frame(w, a), *y = world_get_frame(w, b);

	return x && y && x->kind == y->kind && x->name == y->name && x->file == y->file;
}

/* The loop's own frame; n: it is not there. Frames are held innermost first. */
static unsigned find_loop(const struct world *w, const struct loop *loop, const uint32_t *frames,
			  unsigned n)
{
	unsigned seen = 0;

	for (unsigned i = n; i-- > 0;) {
		const struct world_frame *f = world_get_frame(w, frames[i]);

		if (!f || f->kind != FRAME_PYTHON || seen++ < loop->depth)
			continue;
		return is_same_function(w, frames[i], loop->frame) ? i : n;
	}
	return n;
}

uint32_t loop_place_find(const struct world *w, const struct loop *loop, uint32_t stack)
{
	struct bytes package = package_of(w, loop->frame);
	unsigned n = 0, at;
	const uint32_t *frames = package.n && stack ? world_get_stack(w, stack, &n) : NULL;

	at = frames ? find_loop(w, loop, frames, n) : n;
	if (at >= n || call_site_find(w, frames, n) <= at)
		return 0;
	for (unsigned i = 0; i <= at; i++)
		if (bytes_equal(package_of(w, frames[i]), package))
			return frames[i];
	return 0;
}

void loop_place_parts(const struct world *w, const struct loop *loop, uint32_t anchor,
		      struct track_parts *parts)
{
	for (size_t i = 0; i < parts->v.n && loop->frame; i++) {
		struct track_part *p = &parts->v.v[i];

		p->place = loop_place_find(w, loop, p->stack);
		if (p->place && p->leaf == anchor)
			p->site = p->line = p->place;
	}
}
