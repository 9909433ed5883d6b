/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names places of native code: a CPU sample meets a function at any of its addresses, which are one
 * place of the program; a call is a place of its own.
 */
#include "lib/tracks/track_names.h"

#include "lib/world/fault_stack.h"
#include "lib/world/frame_parts.h"

uint32_t track_names_function(struct track_names *n, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(n->w, frame);
	const struct world_symbol *s = f ? world_get_symbol(n->w, frame) : NULL;
	uint64_t key, first = frame;

	if (!s || f->kind != FRAME_NATIVE)
		return frame;
	key = (uint64_t)f->module << 32 | s->name;
	if (!map_get(&n->functions, key, &first))
		map_put(&n->functions, key, frame); /* where that fails it stands for itself */
	return (uint32_t)first | FRAME_FUNCTION;
}

bool track_names_is_innermost(const struct world *w, uint32_t stack, uint32_t frame)
{
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	unsigned at = n && world_is_fault(w, frames[0]);

	return at < n && frames[at] == frame;
}

uint32_t track_names_site(struct track_names *n, uint32_t stack, bool met)
{
	uint32_t site = site_frames_get(&n->frames, n->w, stack);

	return met && track_names_is_innermost(n->w, stack, site) ? track_names_function(n, site)
								  : site;
}

void track_names_print(struct buf *out, const struct world *w, uint32_t frame)
{
	struct place p;

	if (!(frame & FRAME_FUNCTION)) {
		place_print_frame(out, w, frame);
		return;
	}
	p = place_of(w, frame & ~FRAME_FUNCTION);
	place_print_name(out, &p);
	p.file = bytes_file_name(p.file.n ? p.file : p.module);
	if (p.file.n)
		buf_printf(out, " (%.*s)", (int)p.file.n, p.file.p);
}

void track_names_print_met(struct buf *out, const struct world *w, uint32_t stack, uint32_t frame)
{
	bool function = world_get_symbol(w, frame) && track_names_is_innermost(w, stack, frame);

	track_names_print(out, w, function ? frame | FRAME_FUNCTION : frame);
}
