/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one CSV row per event (RFC 4180) below a header: the columns that all events have, and
 * those of the others that people sort by. Every row has all columns; what an event does not have
 * is empty.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/csvcell.h"
#include "lib/base/timetext.h"
#include "lib/export/format.h"
#include "lib/export/event_args.h"
#include "lib/event/direction.h"
#include "lib/world/frame_parts.h"
#include "lib/world/site_frames.h"
#include "lib/world/who.h"

static const char header[] =
	"timestamp,start_ns,duration_ns,node,pid,tid,process_name,thread_name,source,op,"
	"return_code,error,gpu_id,cgroup,bytes,direction,stream,detail,function,file,line\r\n";

struct csv {
	struct export_ctx em;
	struct site_frames sites;
	bool begun;
};

static void *open_rows(const struct export_ctx *em)
{
	struct csv *c = calloc(1, sizeof(*c));

	if (c)
		c->em = *em;
	return c;
}

/* The next cell. */
static void append_cell(struct buf *out, struct bytes text)
{
	csv_cell(out, text, false);
	buf_putc(out, ',');
}

static void append_string(struct buf *out, const struct world *w, uint32_t string)
{
	append_cell(out, world_text(w, string));
}

static void append_number(struct buf *out, bool known, int64_t v)
{
	if (known)
		buf_printf(out, "%" PRId64, v);
	buf_putc(out, ',');
}

static void append_column(struct buf *out, const struct event *ev, const struct op_def *op,
			  uint16_t col, const char *form)
{
	uint64_t v;

	if (op && event_get(ev, op, col, &v)) {
		if (*form == 'x')
			buf_printf(out, "0x%" PRIx64, v);
		else if (*form == 'd')
			buf_puts(out, direction_code(v) ? direction_code(v) : "");
		else
			buf_printf(out, "%" PRIu64, v);
	}
	buf_putc(out, ',');
}

static void append_site(struct csv *c, uint32_t stack)
{
	uint32_t frame = site_frames_get(&c->sites, c->em.w, stack);
	struct buf *out = c->em.out;
	struct buf text = { 0 };
	struct place p;

	if (frame) {
		p = place_of(c->em.w, frame);
		place_name(&text, &p);
		append_cell(out, buf_bytes(&text));
		append_cell(out, p.file.n ? p.file : p.module);
		if (p.line)
			buf_printf(out, "%" PRIu64, p.line);
		out->failed |= text.failed;
	} else {
		buf_puts(out, ",,");
	}
	buf_puts(out, "\r\n");
	buf_free(&text);
}

static void append_row(struct csv *c, const struct event *ev)
{
	const struct export_ctx *em = &c->em;
	const struct op_def *op = world_op(em->w, ev->op);
	struct who who = who_of(em->w, ev->ctx, ev->end_ns);
	const char *error = op ? event_error_name(op->source, ev->ret) : NULL;
	struct buf *out = em->out;
	char utc[64];

	if (em->told->has_real)
		buf_puts(out, time_iso(utc, sizeof(utc),
				       event_start(ev) + em->told->real_minus_mono_ns));
	buf_putc(out, ',');
	append_number(out, em->told->has_start, event_start(ev) - em->told->start_ns);
	append_number(out, true, (int64_t)ev->dur_ns);
	append_string(out, em->w, who.node ? who.node->name : 0);
	append_number(out, who.process, who.process ? who.process->tgid : 0);
	append_number(out, who.thread, who.thread ? who.thread->tid : 0);
	append_string(out, em->w, who.process_name);
	append_string(out, em->w, who.thread_name);
	append_cell(out, bytes_of(op ? op->source_name : ""));
	append_cell(out, bytes_of(op ? op->name : ""));
	append_number(out, op && op->flags & OP_CALL, ev->ret);
	append_cell(out, bytes_of(error ? error : ""));
	append_number(out, who.gpu, who.gpu ? who.gpu->index : 0);
	append_string(out, em->w, who.cgroup ? who.cgroup->path : 0);
	append_column(out, ev, op, COL_BYTES, "u");
	append_column(out, ev, op, COL_DIRECTION, "d");
	append_column(out, ev, op, COL_STREAM, "x");
	append_string(out, em->w, op ? event_args_detail(em->told, ev, op, who.process_id) : 0);
	append_site(c, ev->stack);
}

static int on_item(void *state, const struct stream_item *it, struct err *e)
{
	struct csv *c = state;

	if (!c->begun)
		buf_puts(c->em.out, header);
	c->begun = true;
	for (size_t i = 0; it->kind == STREAM_EVENTS && i < it->n; i++)
		append_row(c, &it->events[i]);
	return c->em.out->failed ? err_nomem(e) : 0;
}

static int on_finish(void *state, struct err *e)
{
	struct csv *c = state;

	if (!c->begun)
		buf_puts(c->em.out, header);
	return c->em.out->failed ? err_nomem(e) : 0;
}

static void free_state(void *state)
{
	struct csv *c = state;

	map_free(&c->sites.by);
	free(c);
}

const struct export_format export_csv = {
	.name = "csv",
	.endings = ".csv",
	.help = "events, a row each, for spreadsheets and data frames",
	.open = open_rows,
	.item = on_item,
	.finish = on_finish,
	.free = free_state,
};
