/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes events and records as .ige segments. Events wait in `pending` until the watermark passes
 * them, are sorted, and fill the open block, which writer_seal.c writes.
 */
#include "lib/ige/writer_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/io.h"
#include "lib/ige/records.h"
#include "lib/world/event_order.h"

#define BLOCK_EVENTS  8192
#define SEGMENT_BYTES (64u << 20)
#define SEGMENT_NS    60000000000u
#define PENDING_MAX   65536 /* events held for sorting; beyond it the older half is let go */

/* ---- sink on a descriptor ---- */

static int fd_put(struct ige_sink *s, enum ige_put_kind kind, const void *p, size_t n,
		  uint32_t events, struct err *e)
{
	struct ige_fd_sink *fd = (struct ige_fd_sink *)s;
	int rc = write_all(fd->fd, p, n, e);

	(void)kind;
	(void)events;
	if (!rc)
		fd->bytes += n;
	return rc;
}

void ige_fd_sink_init(struct ige_fd_sink *s, int fd)
{
	*s = (struct ige_fd_sink){ .sink = { fd_put }, .fd = fd };
}

/* ---- life ---- */

int ige_writer_new(struct ige_writer **out, struct world *w, struct ige_sink *sink,
		   const struct ige_writer_options *opt, struct err *e)
{
	struct ige_writer *wr = calloc(1, sizeof(*wr));

	*out = wr;
	if (!wr)
		return err_nomem(e);
	wr->world = w;
	wr->sink = sink;
	wr->opt = *opt;
	if (!wr->opt.block_events || wr->opt.block_events > IGE_EVENTS_MAX)
		wr->opt.block_events = opt->archive ? IGE_EVENTS_MAX : BLOCK_EVENTS;
	if (!wr->opt.segment_bytes)
		wr->opt.segment_bytes = SEGMENT_BYTES;
	if (!wr->opt.segment_ns)
		wr->opt.segment_ns = SEGMENT_NS;
	ige_dict_writer_init(&wr->dict, w);
	ige_rows_init(&wr->rows, &wr->dict);
	ige_rows_init(&wr->late, &wr->dict);
	wr->builder.small = opt->archive;
	wr->last_end = wr->watermark = wr->floor = wr->due = INT64_MIN;
	return 0;
}

void ige_writer_free(struct ige_writer *wr)
{
	if (!wr)
		return;
	ige_dict_writer_free(&wr->dict);
	ige_builder_free(&wr->builder);
	ige_rows_free(&wr->rows);
	ige_rows_free(&wr->late);
	ige_archive_free(&wr->archive);
	ige_pending_free(&wr->pending);
	ige_column_merger_free(&wr->weaver);
	vec_free(&wr->records);
	arena_free(&wr->texts);
	buf_free(&wr->out);
	ige_writer_later_free(wr);
	ige_index_free(&wr->index);
	free(wr);
}

/* ---- events ---- */

static int write_event(struct ige_writer *wr, const struct event *ev, struct err *e)
{
	const struct ige_written_op *op;
	struct ige_rows *rows;
	/* The segment's schema lacks ops that were defined after it was written. */
	int rc = wr->dict.stale && wr->open ? ige_writer_seal(wr, e) : 0;

	if (rc)
		return rc;
	op = ige_dict_op(&wr->dict, ev->op);
	rows = ev->end_ns < wr->last_end ? &wr->late : &wr->rows;
	*(rows == &wr->rows ? &wr->row_ops : &wr->late_ops) |= ige_op_bit(ev->op);
	if (rows == &wr->rows)
		wr->last_end = ev->end_ns;
	if (wr->opt.archive && rows == &wr->rows) {
		if (!ige_archive_add(&wr->archive, ev, op->def))
			return err_nomem(e);
		return wr->archive.held.n >= wr->opt.block_events ||
				       wr->archive.bytes > IGE_ROWS_BYTES_MAX
			       ? ige_writer_seal(wr, e)
			       : 0;
	}
	if (!ige_rows_add(rows, ev, op))
		return err_nomem(e);
	return ige_writer_full(wr, rows) ? ige_writer_seal(wr, e) : 0;
}

static int release_events(struct ige_writer *wr, int64_t upto, size_t at_least, struct err *e)
{
	const struct event *ev;
	int rc = ige_pending_sort(&wr->pending, wr->world) ? 0 : err_nomem(e);

	for (size_t n = 0; !rc && (ev = ige_pending_first(&wr->pending)); n++) {
		if (n >= at_least && ev->end_ns > upto)
			break;
		rc = write_event(wr, ev, e);
		ige_pending_pop(&wr->pending);
	}
	ige_pending_tidy(&wr->pending);
	return rc;
}

static bool from_nowhere(struct ige_writer *wr, const struct event *ev)
{
	bool nowhere = ige_event_nowhere(ev);

	wr->lost += nowhere;
	return nowhere;
}

int ige_writer_event(struct ige_writer *wr, const struct event *ev, struct err *e)
{
	if (from_nowhere(wr, ev))
		return 0;
	if (!ige_dict_op(&wr->dict, ev->op))
		return err_set(e, ERR_USAGE, "event of unknown op %u", ev->op);
	if (ige_pending_count(&wr->pending) >= PENDING_MAX) {
		int rc = release_events(wr, INT64_MIN, PENDING_MAX / 2, e);

		if (rc)
			return rc;
	}
	return ige_pending_add(&wr->pending, ev, wr->world) ? 0 : err_nomem(e);
}

int ige_writer_record(struct ige_writer *wr, const struct record *r, struct err *e)
{
	const struct record_def *def = record_builtin(r->kind);
	struct record own = *r;

	if (!def)
		return err_set(e, ERR_USAGE, "record kind %u is not known", r->kind);
	/* Of one that was damaged nothing may be left: no record has no value. */
	if (!r->present)
		return 0;
	if (ige_record_bytes(r) > IGE_RECORD_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "a %s record of %zu bytes", def->name,
			       ige_record_bytes(r));
	for (unsigned i = 0; i < def->nfields; i++) {
		struct bytes text;
		char *at = (char *)&own.u + def->fields[i].offset;

		if (def->fields[i].type != REC_TEXT || !record_has(r, def->fields[i].number))
			continue;
		memcpy(&text, at, sizeof(text));
		text.p = arena_copy(&wr->texts, text.p ? text.p : "", text.n);
		if (!text.p)
			return err_nomem(e);
		memcpy(at, &text, sizeof(text));
	}
	return vec_push(&wr->records, own) ? 0 : err_nomem(e);
}

void ige_writer_lost(struct ige_writer *wr, uint64_t n)
{
	wr->lost += n;
}

static bool in_order(const struct event *events, size_t n, const struct world *w)
{
	for (size_t i = 1; i < n; i++)
		if (events[i].end_ns <= events[i - 1].end_ns &&
		    world_event_order(w, &events[i - 1], &events[i]) > 0)
			return false;
	return true;
}

int ige_writer_ordered(struct ige_writer *wr, const struct event *events, size_t n,
		       int64_t watermark_ns, int64_t floor_ns, struct err *e)
{
	int rc = 0;

	if (!n || wr->opt.window_ns || ige_pending_count(&wr->pending) ||
	    events[n - 1].end_ns > watermark_ns || !in_order(events, n, wr->world))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!ige_dict_op(&wr->dict, events[i].op))
			return 0;
	ige_writer_set_times(wr, watermark_ns, floor_ns);
	for (size_t i = 0; i < n && !rc; i++)
		if (!from_nowhere(wr, &events[i]))
			rc = write_event(wr, &events[i], e);
	return rc ? rc : 1;
}

int ige_writer_flush(struct ige_writer *wr, int64_t watermark_ns, int64_t floor_ns, bool force,
		     struct err *e)
{
	bool idle;
	int rc;

	ige_writer_set_times(wr, watermark_ns, floor_ns);
	rc = release_events(wr, wr->due, 0, e);
	if (rc || !force)
		return rc;
	idle = !wr->rows.n && !wr->archive.held.n;
	rc = ige_writer_seal(wr, e);
	/* A heartbeat says how far time has come when no event does. */
	if (!rc && idle && wr->open)
		rc = ige_writer_put_rows(wr, &wr->rows, 0, e);
	return rc ? rc : ige_writer_settle(wr, e);
}

int ige_writer_item(struct ige_writer *wr, const struct stream_item *item, struct err *e)
{
	int rc = 0;

	if (item->kind == STREAM_RECORD)
		return ige_writer_record(wr, item->record, e);
	if (item->kind != STREAM_EVENTS)
		return 0;
	ige_writer_lost(wr, item->lost);
	for (size_t i = 0; i < item->n && !rc; i++)
		rc = ige_writer_event(wr, &item->events[i], e);
	return rc ? rc : ige_writer_flush(wr, item->watermark_ns, item->floor_ns, false, e);
}

int ige_writer_cut(struct ige_writer *wr, struct err *e)
{
	int rc;

	wr->cutting = true;
	rc = wr->open || wr->rows.n || wr->late.n || wr->records.n ? ige_writer_seal(wr, e) : 0;
	wr->cutting = false;
	if (rc || !wr->open)
		return rc;
	rc = ige_writer_put_index(wr, e);
	if (!rc)
		rc = ige_writer_put_rows(wr, &wr->rows, IGE_LAST, e);
	if (!rc)
		rc = ige_writer_settle(wr, e);
	ige_dict_writer_reset(&wr->dict);
	wr->open = false;
	return rc;
}

int ige_writer_finish(struct ige_writer *wr, struct err *e)
{
	int rc = release_events(wr, INT64_MAX, 0, e);

	if (!rc)
		rc = ige_writer_seal(wr, e);
	if (!rc && !wr->open)
		rc = ige_writer_seal(wr, e);
	/* In front of LAST, which stays the last that a reader of one pass looks at. */
	if (!rc)
		rc = ige_writer_put_index(wr, e);
	if (!rc)
		rc = ige_writer_put_rows(wr, &wr->rows, IGE_LAST, e);
	return rc ? rc : ige_writer_settle(wr, e);
}
