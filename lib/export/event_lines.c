/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one line of text per event for people and grep: who, what, how much, how long, with which
 * result. Columns have fixed widths, so that lines can be written as events come.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/export/format.h"
#include "lib/world/frame_parts.h"
#include "lib/world/who.h"

struct lines {
	struct export_ctx em;
	bool begun;
};

static void *open_lines(const struct export_ctx *em)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (l)
		l->em = *em;
	return l;
}

static void print_header(struct lines *l)
{
	if (!l->begun)
		buf_printf(l->em.out, "%12s %8s  %-28s %10s %10s  %s\n", "TIME", "PID", "FUNCTION",
			   "SIZE", "DURATION", "RESULT");
	l->begun = true;
}

static void print_result(struct buf *out, const struct event *ev, const struct op_def *op)
{
	const char *error = op ? event_error_name(op->source, ev->ret) : NULL;

	if (error)
		buf_puts(out, error);
	else if (op && op->flags & OP_CALL && ev->ret)
		buf_printf(out, "%" PRId32, ev->ret);
	else if (op && op->flags & OP_CALL)
		buf_puts(out, "ok");
}

/* The innermost frame first. */
static void print_stack(struct buf *out, const struct world *w, uint32_t id)
{
	unsigned n = 0;
	const uint32_t *frames = id ? world_get_stack(w, id, &n) : NULL;

	for (unsigned i = 0; i < n; i++) {
		struct buf frame = { 0 };

		place_print_frame(&frame, w, frames[i]);
		buf_printf(out, "%24s", "");
		fmt_safe(out, buf_bytes(&frame));
		buf_putc(out, '\n');
		out->failed |= frame.failed;
		buf_free(&frame);
	}
}

static void print_event(const struct export_ctx *em, const struct event *ev)
{
	const struct op_def *op = world_op(em->w, ev->op);
	struct who who = who_of(em->w, ev->ctx, ev->end_ns);
	struct buf *out = em->out;
	uint64_t bytes;

	if (em->told->has_start)
		buf_printf(out, "%11.6fs ", (double)(event_start(ev) - em->told->start_ns) / 1e9);
	else
		buf_printf(out, "%12s ", "");
	if (who.process)
		buf_printf(out, "%8u  ", who.process->tgid);
	else
		buf_printf(out, "%8s  ", "-");
	buf_printf(out, "%-28s ", op ? op->name : "?");
	buf_printf(out, "%10s ",
		   op && event_get(ev, op, COL_BYTES, &bytes) ? fmt_bytes(bytes).s : "-");
	buf_printf(out, "%10s  ", op && op->track == TRACK_INSTANT ? "-" : fmt_ns(ev->dur_ns).s);
	print_result(out, ev, op);
	buf_putc(out, '\n');
	if (em->opt.stacks_below)
		print_stack(out, em->w, ev->stack);
}

static int on_item(void *state, const struct stream_item *it, struct err *e)
{
	struct lines *l = state;

	print_header(l);
	for (size_t i = 0; it->kind == STREAM_EVENTS && i < it->n; i++)
		print_event(&l->em, &it->events[i]);
	return l->em.out->failed ? err_nomem(e) : 0;
}

static int on_finish(void *state, struct err *e)
{
	struct lines *l = state;

	print_header(l);
	return l->em.out->failed ? err_nomem(e) : 0;
}

const struct export_format export_text = {
	.name = "text",
	.endings = ".txt",
	.help = "events, a line each, for people and grep",
	.open = open_lines,
	.item = on_item,
	.finish = on_finish,
	.free = free,
};
