/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names unnamed kernels by the code that launched them. From the launching call outwards: frames of
 * CUDA's runtime and driver are passed over; then either a run of frames of a library of kernels,
 * or the launching function itself.
 */
#include "lib/query/launcher.h"

#include <inttypes.h>
#include <string.h>

#include "lib/account/names.h"

struct place {
	const uint32_t *frames;
	unsigned n;
	unsigned first,
		last; /* of the library; without one the launching frame. n: there is none */
	bool library;
};

/* Of the runtime and the driver. NCCL drives devices, and has kernels of its own. */
static bool is_passed_over(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);

	return !f || f->kind == FRAME_KERNEL || f->kind == FRAME_UNKNOWN ||
	       (name_of_device(w, frame) && !name_of_kernels(w, frame));
}

static struct place place_of(const struct world *w, uint32_t stack)
{
	struct place p = { 0 };

	p.frames = stack ? world_get_stack(w, stack, &p.n) : NULL;
	while (p.first < p.n && is_passed_over(w, p.frames[p.first]))
		p.first++;
	p.last = p.first;
	p.library = p.first < p.n && name_of_kernels(w, p.frames[p.first]);
	while (p.library && p.last + 1 < p.n && name_of_kernels(w, p.frames[p.last + 1]))
		p.last++;
	return p;
}

static uint32_t find_library(const struct world *w, uint32_t stack)
{
	struct place p = place_of(w, stack);

	return p.library ? p.frames[p.last] : 0;
}

uint32_t launcher_find_library(struct map *known, const struct world *w, uint32_t stack)
{
	uint64_t frame;

	if (!stack)
		return 0;
	if (!map_get(known, stack, &frame)) {
		frame = find_library(w, stack);
		map_put(known, stack, frame); /* else it is looked up again */
	}
	return (uint32_t)frame;
}

/* Of a native frame its symbol, of a Python frame its function; empty: none is known. */
static struct bytes function_of(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);
	const struct world_symbol *s = world_get_symbol(w, frame);

	if (s)
		return world_text(w, s->name);
	return f && f->kind == FRAME_PYTHON ? world_text(w, f->name) : (struct bytes){ 0 };
}

/* Without the result that a demangled template begins with. */
static void put_function(struct buf *out, struct bytes name)
{
	static const char result[] = "void ";
	size_t n = sizeof(result) - 1;

	if (name.n > n && memcmp(name.p, result, n) == 0)
		name = (struct bytes){ name.p + n, name.n - n };
	buf_add(out, name.p, name.n);
}

static void put_library(struct buf *out, const struct world *w, const struct place *p)
{
	struct bytes name = { 0 };
	unsigned at = p->last;

	/* Its exported function; what is inside is stripped. */
	while (!(name = function_of(w, p->frames[at])).n && at > p->first)
		at--;
	if (name.n)
		put_function(out, name);
	else
		name_frame(out, w, p->frames[p->last]);
	name = (struct bytes){ 0 };
	for (at = p->last + 1; at < p->n && !name.n; at++)
		name = function_of(w, p->frames[at]);
	if (name.n) {
		buf_puts(out, " < ");
		put_function(out, name);
	}
}

bool launcher_append_name(struct buf *out, const struct world *w, uint32_t stack, uint64_t func)
{
	struct place p = place_of(w, stack);
	struct bytes name = { 0 };
	const struct world_frame *f;

	if (p.library) {
		put_library(out, w, &p);
		return true;
	}
	f = p.first < p.n ? world_get_frame(w, p.frames[p.first]) : NULL;
	if (f && f->kind != FRAME_GAP)
		name = function_of(w, p.frames[p.first]);
	if (name.n) {
		buf_puts(out, "launched by ");
		put_function(out, name);
		return true;
	}
	buf_printf(out, "kernel unknown (0x%" PRIx64, func);
	if (f && f->kind == FRAME_NATIVE) {
		buf_puts(out, ", called from ");
		name_frame(out, w, p.frames[p.first]);
	}
	buf_putc(out, ')');
	return false;
}
