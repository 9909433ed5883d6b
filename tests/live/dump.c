/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a recording as one JSON object per line, everything the tests of the recorder compare
 * with the truth. Built by tests/live/recording.py against libingero.a.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/jsonw.h"
#include "lib/ige/reader.h"
#include "lib/world/world.h"

static const char *text(const struct world *w, uint32_t id)
{
	return id ? world_text(w, id).p : "";
}

static void say_text(struct buf *b, struct bytes text)
{
	struct jsonw j;

	jsonw_init(&j, b, false);
	jsonw_bytes(&j, text);
}

static void say_stack(struct buf *b, const struct world *w, uint32_t id)
{
	unsigned n = 0;
	const uint32_t *frames = world_get_stack(w, id, &n);

	buf_printf(b, ",\"stack_end\":%u,\"stack\":[", world_stack_end(w, id));
	for (unsigned i = 0; i < n; i++) {
		const struct world_frame *f = world_get_frame(w, frames[i]);
		const struct world_symbol *s = world_get_symbol(w, frames[i]);
		const struct world_module *m = world_get_module(w, f->module);

		if (f->kind == FRAME_PYTHON || f->kind == FRAME_GAP) {
			/* As the traced program wrote them: any text. */
			buf_puts(b, i ? ",[" : "[");
			say_text(b, world_text(w, f->name));
			buf_puts(b, ",");
			say_text(b,
				 f->kind == FRAME_GAP ? bytes_of("gap") : world_text(w, f->file));
			buf_printf(b, ",%llu,\"%s\"]", (unsigned long long)f->offset,
				   f->kind == FRAME_GAP ? "gap" : "python");
			continue;
		}
		buf_printf(b, "%s[\"%s\",\"%s\",%llu]", i ? "," : "", s ? text(w, s->name) : "",
			   m ? text(w, m->path) : "?", (unsigned long long)f->offset);
	}
	buf_puts(b, "]");
}

/* Threads in columns, by who they are. */
static void say_threads(struct buf *b, const struct world *w, const struct event *ev,
			const struct op_def *def)
{
	unsigned n = 0;

	buf_puts(b, ",\"threads\":{");
	for (unsigned i = 0; i < def->ncols; i++) {
		const struct column_def *column = world_column(w, def->cols[i]);
		const struct world_thread *t;
		const struct world_process *p;

		if (column->role != ROLE_THREAD || !(ev->present >> i & 1))
			continue;
		t = world_get_thread(w, (uint32_t)ev->x[i]);
		p = t ? world_get_process(w, t->process) : NULL;
		buf_printf(b, "%s\"%s\":[%u,%u,\"%s\"]", n++ ? "," : "", column->name,
			   t ? t->tid : 0, p ? p->tgid : 0, t ? text(w, t->comm) : "");
	}
	buf_puts(b, "}");
}

static void say_event(struct buf *b, const struct world *w, const struct event *ev)
{
	const struct op_def *def = world_op(w, ev->op);
	const struct world_ctx *ctx = world_get_ctx(w, ev->ctx);
	const struct world_thread *t = ctx ? world_get_thread(w, ctx->thread) : NULL;
	const struct world_process *p = t ? world_get_process(w, t->process) : NULL;
	const struct world_image *image = ctx ? world_get_image(w, ctx->image) : NULL;

	buf_printf(b,
		   "{\"source\":\"%s\",\"op\":\"%s\",\"end\":%lld,\"dur\":%llu,\"depth\":%u,"
		   "\"ret\":%d,\"tid\":%u,\"pid\":%u,"
		   "\"exec\":%d,\"x\":{",
		   def->source_name, def->name, (long long)ev->end_ns,
		   (unsigned long long)ev->dur_ns, ev->depth, ev->ret, t ? t->tid : 0,
		   p ? p->tgid : 0, image ? (int)image->exec : -1);
	for (unsigned i = 0, n = 0; i < def->ncols; i++)
		if (ev->present >> i & 1)
			buf_printf(b, "%s\"%s\":%llu", n++ ? "," : "",
				   world_column(w, def->cols[i])->name,
				   (unsigned long long)ev->x[i]);
	buf_puts(b, "}");
	say_threads(b, w, ev, def);
	say_stack(b, w, ev->stack);
	buf_puts(b, "}\n");
}

/* As of an event: threads in fields, by who they are. */
static void say_record_threads(struct buf *b, const struct world *w, const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);
	unsigned n = 0;

	buf_puts(b, ",\"threads\":{");
	for (unsigned i = 0; i < def->nfields; i++) {
		const struct record_field *f = &def->fields[i];
		const struct world_thread *t;
		const struct world_process *p;

		if (f->role != RROLE_THREAD || !record_has(r, f->number))
			continue;
		t = world_get_thread(w, *(const uint32_t *)((const char *)&r->u + f->offset));
		p = t ? world_get_process(w, t->process) : NULL;
		buf_printf(b, "%s\"%s\":{\"tid\":%u,\"pid\":%u}", n++ ? "," : "", f->name,
			   t ? t->tid : 0, p ? p->tgid : 0);
	}
	buf_puts(b, "}");
}

static void say_record(struct buf *b, const struct world *w, const struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);

	buf_printf(b, "{\"record\":\"%s\"", def->name);
	for (unsigned i = 0; i < def->nfields; i++) {
		const struct record_field *f = &def->fields[i];
		const char *at = (const char *)&r->u + f->offset;

		if (!record_has(r, f->number))
			continue;
		buf_printf(b, ",\"%s\":", f->name);
		if (f->type == REC_TEXT)
			say_text(b, *(const struct bytes *)at);
		else if (f->type == REC_F64)
			buf_printf(b, "%.17g", *(const double *)at);
		else if (f->type == REC_U32)
			buf_printf(b, "%u", *(const uint32_t *)at);
		else
			buf_printf(b, "%lld", (long long)*(const int64_t *)at);
		if (f->role == RROLE_PROCESS && world_get_process(w, *(const uint32_t *)at))
			buf_printf(b, ",\"pid\":%u",
				   world_get_process(w, *(const uint32_t *)at)->tgid);
		if (f->role == RROLE_CGROUP) {
			buf_puts(b, ",\"path\":");
			say_text(b,
				 world_text(w, world_get_cgroup(w, *(const uint32_t *)at)->path));
		}
	}
	say_record_threads(b, w, r);
	buf_puts(b, "}\n");
}

int main(int argc, char **argv)
{
	struct world *w = world_new();
	struct ige_reader *r = NULL;
	struct ige_block block;
	struct stream_item item;
	struct err e = { 0 };
	struct buf b = { 0 };
	const struct ige_report *report;
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : 0;

	if (fd < 0 || ige_reader_open(&r, w, fd, true, argc > 1 ? argv[1] : "standard input", &e)) {
		fprintf(stderr, "dump: %s\n", e.text);
		return 3;
	}
	while (ige_reader_block(r, &block, &e) == 1)
		while (ige_reader_items(r, &item, &e) == 1) {
			if (item.kind == STREAM_EVENTS)
				for (size_t i = 0; i < item.n; i++)
					say_event(&b, w, &item.events[i]);
			else if (item.kind == STREAM_RECORD)
				say_record(&b, w, item.record);
			fwrite(b.p, 1, b.n, stdout);
			buf_reset(&b);
		}
	report = ige_reader_report(r);
	printf("{\"report\":1,\"unterminated\":%d,\"growing\":%d,\"damaged\":%llu,\"skipped\":%llu,"
	       "\"events\":%llu,\"lost\":%llu}\n",
	       report->unterminated, report->growing, (unsigned long long)report->damaged_blocks,
	       (unsigned long long)report->skipped_bytes, (unsigned long long)report->events,
	       (unsigned long long)report->lost_events);
	ige_reader_free(r);
	buf_free(&b);
	world_free(w);
	return 0;
}
