/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a loop of Python by its function's lines, and one that was found by repeated calls by the
 * function that makes all of them, or else by the call that tells its steps.
 */
#include "lib/tracks/loop_text.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/tracks/loop_caller.h"
#include "lib/world/frame_parts.h"

static void print_lines(struct buf *out, const struct place *at, struct bytes path, uint64_t first,
			uint64_t last)
{
	struct buf name = { 0 };

	if (at->function.n)
		place_print_name(&name, at);
	else
		buf_puts(&name, "?");
	fmt_safe(out, buf_bytes(&name));
	out->failed |= name.failed;
	buf_free(&name);
	buf_puts(out, " (");
	fmt_safe(out, bytes_file_name(path));
	if (first)
		buf_printf(out, ":%" PRIu64, first);
	if (last > first)
		buf_printf(out, "-%" PRIu64, last);
	buf_putc(out, ')');
}

void loop_text_print_call(struct buf *out, const struct world *w, const struct loop *l)
{
	const struct op_def *op = world_op(w, l->op);
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(w, l->stack, &n);

	buf_puts(out, op ? op->name : "?");
	if (frames && n) {
		buf_puts(out, " called from ");
		place_print_frame(out, w, frames[0]);
	}
}

void loop_text_print(struct buf *out, const struct world *w, const struct loop *l)
{
	struct loop_caller c = { .frame = l->frame,
				 .first_line = l->first_line,
				 .last_line = l->last_line };
	struct place at;

	if (l->period)
		c = loop_caller_of(w, l);
	if (l->period && !c.frame) {
		buf_printf(out, "%s call%s from ", fmt_count(l->period).s,
			   l->period == 1 ? "" : "s");
		loop_text_print_call(out, w, l);
		return;
	}
	at = place_of(w, c.frame);
	print_lines(out, &at, c.first_line || !l->period ? at.file : at.module, c.first_line,
		    c.last_line);
}
