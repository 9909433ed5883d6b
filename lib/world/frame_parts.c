/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the function, file and line of a stack frame. Python frames have them; native frames get
 * them when symbols are known.
 */
#include "lib/world/frame_parts.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/cpp_name.h"

struct place place_of(const struct world *w, uint32_t frame)
{
	const struct world_frame *f = world_get_frame(w, frame);
	const struct world_symbol *s = f ? world_get_symbol(w, frame) : NULL;
	const struct world_module *m = f ? world_get_module(w, f->module) : NULL;
	struct place p = { 0 };

	if (!f)
		return p;
	p.kind = f->kind;
	p.module = m ? world_text(w, m->path) : p.module;
	if (f->kind == FRAME_PYTHON || f->kind == FRAME_GAP) {
		p.function = world_text(w, f->name);
		p.file = world_text(w, f->file);
		p.line = f->kind == FRAME_PYTHON ? f->offset : 0;
		return p;
	}
	p.address = f->offset;
	if (s) {
		p.function = world_text(w, s->name);
		p.file = world_text(w, s->file);
		p.line = s->line;
	}
	return p;
}

void place_name(struct buf *out, const struct place *p)
{
	struct bytes module;

	if (p->kind == FRAME_GAP) {
		buf_puts(out, "(frames are missing");
		if (p->function.n) {
			buf_puts(out, ": ");
			buf_add(out, p->function.p, p->function.n);
		}
		buf_putc(out, ')');
	} else if (p->function.n) {
		buf_add(out, p->function.p, p->function.n);
	} else if (p->module.n) {
		module = bytes_file_name(p->module);
		buf_add(out, module.p, module.n);
		buf_printf(out, "+0x%" PRIx64, p->address);
	} else if (p->kind) {
		buf_printf(out, "0x%" PRIx64, p->address);
	} else {
		buf_puts(out, "?");
	}
}

void place_print_name(struct buf *out, const struct place *p)
{
	if (p->kind == FRAME_NATIVE && p->function.n)
		cpp_name_print(out, p->function);
	else
		place_name(out, p);
}

void place_print_frame(struct buf *out, const struct world *w, uint32_t frame)
{
	const struct world_symbol *s = world_get_symbol(w, frame);
	struct place p = place_of(w, frame);
	struct bytes file = bytes_file_name(p.file), module = bytes_file_name(p.module);

	if (p.kind == FRAME_GAP) {
		buf_printf(out, "(%.*s)", (int)p.function.n, p.function.p ? p.function.p : "");
	} else if (p.kind == FRAME_PYTHON) {
		buf_add(out, p.function.n ? p.function.p : "?", p.function.n ? p.function.n : 1);
		buf_printf(out, " (%.*s", (int)file.n, file.p ? file.p : "");
		if (p.line)
			buf_printf(out, ":%" PRIu64, p.line);
		buf_putc(out, ')');
	} else {
		place_print_name(out, &p);
		if (s && file.n && p.line)
			buf_printf(out, " (%.*s:%" PRIu64 ")", (int)file.n, file.p, p.line);
		else if (s && module.n)
			buf_printf(out, "+0x%" PRIx64 " (%.*s)", s->delta, (int)module.n, module.p);
	}
}

bool place_same_function(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_frame *x = world_get_frame(w, a), *y = world_get_frame(w, b);
	const struct world_symbol *s = world_get_symbol(w, a), *t = world_get_symbol(w, b);

	if (a == b)
		return true;
	if (!x || !y || x->kind != y->kind)
		return false;
	if (x->kind == FRAME_PYTHON)
		return x->file == y->file && x->name == y->name;
	return s && t && x->module == y->module && s->name == t->name;
}
