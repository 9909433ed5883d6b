/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events wait in `pending` until the watermark passes them, are sorted, and fill the open block.
 * Sealing writes, in this order: definitions that were not in the file yet, records, events. A
 * segment ends between blocks; the next one starts with empty dictionaries.
 */
#include "lib/ige/writer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/hash.h"
#include "lib/base/io.h"
#include "lib/ige/archive.h"
#include "lib/ige/index.h"
#include "lib/ige/pending.h"
#include "lib/ige/records.h"

#define BLOCK_EVENTS  8192
#define SEGMENT_BYTES (64u << 20)
#define SEGMENT_NS    60000000000u
#define DICT_SHARE    50 /* a segment may end once events outweigh dictionaries this many times */
#define PENDING_MAX   65536	 /* events held for sorting; beyond it the older half is let go */
#define ROW_BYTES_MAX (3u << 20) /* a block is sealed well before the format's 4 MiB */

struct ige_writer {
	struct world *world;
	struct ige_sink *sink;
	struct ige_writer_options opt;
	struct ige_dict_writer dict;
	struct ige_builder builder;
	struct ige_rows rows, late;
	struct ige_archive archive;
	struct ige_pending pending;
	VEC(struct record) records;
	struct arena texts; /* of waiting records */
	struct buf out;
	struct ige_index index;
	uint64_t row_ops, late_ops; /* of what is in rows and late, see ige_op_bit */
	uint64_t seq;
	uint64_t segment; /* how many began */
	uint64_t segment_bytes, event_bytes;
	int64_t segment_start;
	int64_t last_end; /* of the newest event let go */
	int64_t watermark, floor;
	int64_t due; /* watermark less the window: what ends by then has been let go */
	uint64_t lost;
	bool open;    /* the segment header is written */
	bool cutting; /* the segment is about to end with LAST: it does not end by itself */
};

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
	vec_free(&wr->records);
	arena_free(&wr->texts);
	buf_free(&wr->out);
	ige_index_free(&wr->index);
	free(wr);
}

/* ---- blocks ---- */

static int put_ops(struct ige_writer *wr, enum ige_put_kind kind, uint32_t events, uint64_t ops,
		   struct err *e)
{
	int rc;

	if (wr->out.failed)
		return err_nomem(e);
	if (!wr->out.n)
		return 0;
	/* What the sink then drops, an index does not know: it will not fit, and nobody believes it. */
	if (wr->opt.index && !ige_index_add(&wr->index, wr->out.p, wr->out.n, ops))
		return err_nomem(e);
	rc = wr->sink->put(wr->sink, kind, wr->out.p, wr->out.n, events, e);
	wr->segment_bytes += wr->out.n;
	if (kind == IGE_PUT_EVENTS)
		wr->event_bytes += wr->out.n;
	buf_reset(&wr->out);
	return rc;
}

static int put(struct ige_writer *wr, enum ige_put_kind kind, uint32_t events, struct err *e)
{
	return put_ops(wr, kind, events, 0, e);
}

static int write_index(struct ige_writer *wr, struct err *e)
{
	int rc;

	/* A segment of that many blocks cannot be (one flush with tens of thousands of records); seekers walk it. */
	if (!wr->opt.index || wr->index.rows.n > IGE_EVENTS_MAX)
		return 0;
	rc = ige_index_seal(&wr->index, &wr->builder, &wr->seq, &wr->out, e);
	return rc ? rc : put(wr, IGE_PUT_FRAME, 0, e);
}

static int begin_segment(struct ige_writer *wr, struct err *e)
{
	struct ige_segment s = { .major = IGE_MAJOR,
				 .minor = IGE_MINOR,
				 .flags = wr->opt.archive ? IGE_SEGMENT_ARCHIVE : 0,
				 .time_unit_ns = 1,
				 .boot = wr->opt.boot,
				 .real_minus_mono_ns = wr->opt.real_minus_mono_ns,
				 .clock_id = wr->opt.clock_id };
	uint64_t id[2];
	unsigned char *header;
	int rc;

	memcpy(s.node_uuid, wr->opt.node_uuid, sizeof(s.node_uuid));
	/* Unlike every other segment's: its node, boot, wall time and place in the recording. */
	id[0] = hash_bytes(wr->opt.node_uuid, 16,
			   wr->opt.boot ^ (uint64_t)wr->opt.real_minus_mono_ns ^ wr->opt.salt);
	id[1] = hash_u64(id[0] ^ (uint64_t)wr->watermark ^ ++wr->segment << 40);
	memcpy(s.id, id, sizeof(s.id));
	/* Every block says which segment it belongs to, so that a lost header cannot mix up ids. */
	wr->seq = (uint64_t)ige_segment_tag(&s) << 32;
	wr->segment_bytes = wr->event_bytes = 0;
	wr->segment_start = INT64_MIN;
	wr->open = true;
	header = (unsigned char *)buf_reserve(&wr->out, IGE_SEGMENT_BYTES);
	if (!header)
		return err_nomem(e);
	ige_segment_pack(&s, header);
	buf_added(&wr->out, IGE_SEGMENT_BYTES);
	rc = put(wr, IGE_PUT_FRAME, 0, e);
	if (!rc)
		rc = ige_schema_seal(wr->world, &wr->builder, &wr->seq, &wr->out, e);
	return rc ? rc : put(wr, IGE_PUT_DEFINITIONS, 0, e);
}

static uint32_t floor_us(const struct ige_writer *wr, int64_t end_max)
{
	uint64_t before;

	if (wr->floor == INT64_MIN)
		return IGE_FLOOR_UNKNOWN;
	if (wr->floor >= end_max)
		return 0;
	before = ((uint64_t)end_max - (uint64_t)wr->floor + 999) / 1000;
	return before < IGE_FLOOR_UNKNOWN ? (uint32_t)before : IGE_FLOOR_UNKNOWN;
}

static uint32_t take_lost(struct ige_writer *wr)
{
	uint32_t lost = wr->lost < UINT32_MAX ? (uint32_t)wr->lost : UINT32_MAX;

	wr->lost -= lost;
	return lost;
}

/* Ids of the subjects waiting records refer to, so that their definitions go first. */
static void mint_records(struct ige_writer *wr)
{
	for (size_t i = 0; i < wr->records.n; i++) {
		const struct record *r = &wr->records.v[i];
		const struct record_def *def = record_builtin(r->kind);

		for (unsigned k = 0; def && k < def->nfields; k++) {
			int kind = ige_record_role_kind(def->fields[k].role);
			uint32_t id;

			if (kind < 0 || !record_has(r, def->fields[k].number))
				continue;
			memcpy(&id, (const char *)&r->u + def->fields[k].offset, sizeof(id));
			ige_dict_id(&wr->dict, (enum world_kind)kind, id);
		}
	}
}

/* Runs of one kind become blocks; their order is the order of arrival. */
static int write_records(struct ige_writer *wr, struct err *e)
{
	int rc = 0;

	for (size_t i = 0, n; i < wr->records.n && !rc; i += n) {
		int64_t now = wr->watermark != INT64_MIN  ? wr->watermark
			      : wr->last_end != INT64_MIN ? wr->last_end
							  : 0;
		struct ige_header h = { .seq = wr->seq,
					.end_min = now,
					.end_max = now,
					.start_min = now,
					.start_floor_us = IGE_FLOOR_UNKNOWN };

		n = ige_records_fit(&wr->records.v[i], wr->records.n - i);
		wr->seq++;
		rc = ige_records_seal(&wr->records.v[i], n, &wr->dict, &wr->builder, &h, &wr->out,
				      e);
		if (!rc)
			rc = put(wr, IGE_PUT_RECORDS, 0, e);
	}
	wr->records.n = 0;
	arena_free(&wr->texts);
	return rc;
}

static int write_rows(struct ige_writer *wr, struct ige_rows *rows, uint8_t flags, struct err *e)
{
	uint32_t n = (uint32_t)rows->n;
	struct ige_header h = {
		.type = IGE_EVENTS, .flags = flags, .seq = wr->seq++, .lost = take_lost(wr)
	};
	int rc;

	if (!n) {
		/* From here on nothing ends earlier, or it is late. */
		if (wr->due > wr->last_end)
			wr->last_end = wr->due;
		h.end_min = h.end_max = h.start_min = wr->last_end;
	}
	h.start_floor_us = floor_us(wr, n ? rows->end_max : h.end_max);
	if (wr->segment_start == INT64_MIN)
		wr->segment_start = n ? rows->end_min : h.end_min;
	rc = ige_rows_seal(rows, &wr->builder, &h, &wr->out, e);
	if (!rc)
		rc = put_ops(wr, IGE_PUT_EVENTS, n, rows == &wr->rows ? wr->row_ops : wr->late_ops,
			     e);
	*(rows == &wr->rows ? &wr->row_ops : &wr->late_ops) = 0;
	return rc;
}

/* Everything queued, in the order readers need it. */
static int seal(struct ige_writer *wr, struct err *e)
{
	int rc = wr->open ? 0 : begin_segment(wr, e);

	if (rc)
		return rc;
	if (wr->archive.held.n && !ige_archive_rows(&wr->archive, &wr->rows))
		return err_nomem(e);
	mint_records(wr);
	ige_dict_symbols(&wr->dict);
	rc = ige_dict_seal(&wr->dict, &wr->builder, &wr->seq, &wr->out, e);
	if (!rc)
		rc = put(wr, IGE_PUT_DEFINITIONS, 0, e);
	if (!rc)
		rc = write_records(wr, e);
	if (!rc && wr->rows.n)
		rc = write_rows(wr, &wr->rows, 0, e);
	if (!rc && wr->late.n)
		rc = write_rows(wr, &wr->late, IGE_LATE, e);
	if (!rc && !wr->cutting &&
	    (wr->segment_bytes > wr->opt.segment_bytes || wr->dict.full ||
	     wr->index.rows.n > IGE_INDEX_MAX ||
	     (wr->segment_start != INT64_MIN && wr->event_bytes > wr->dict.bytes * DICT_SHARE &&
	      (uint64_t)(wr->last_end - wr->segment_start) > wr->opt.segment_ns))) {
		rc = write_index(wr, e);
		ige_dict_writer_reset(&wr->dict);
		wr->open = false;
	}
	return rc;
}

/* ---- events ---- */

static int let_go(struct ige_writer *wr, const struct event *ev, struct err *e)
{
	const struct ige_written_op *op = ige_dict_op(&wr->dict, ev->op);
	struct ige_rows *rows = ev->end_ns < wr->last_end ? &wr->late : &wr->rows;

	*(rows == &wr->rows ? &wr->row_ops : &wr->late_ops) |= ige_op_bit(ev->op);
	if (rows == &wr->rows)
		wr->last_end = ev->end_ns;
	if (wr->opt.archive && rows == &wr->rows) {
		if (!ige_archive_add(&wr->archive, ev, op->def))
			return err_nomem(e);
		return wr->archive.held.n >= wr->opt.block_events ||
				       wr->archive.bytes > ROW_BYTES_MAX
			       ? seal(wr, e)
			       : 0;
	}
	if (!ige_rows_add(rows, ev, op))
		return err_nomem(e);
	if (rows->n >= wr->opt.block_events || rows->bytes > ROW_BYTES_MAX ||
	    ige_dict_due(&wr->dict))
		return seal(wr, e);
	return 0;
}

static int release(struct ige_writer *wr, int64_t upto, size_t at_least, struct err *e)
{
	const struct event *ev;
	int rc = ige_pending_sort(&wr->pending, wr->world) ? 0 : err_nomem(e);

	for (size_t n = 0; !rc && (ev = ige_pending_first(&wr->pending)); n++) {
		if (n >= at_least && ev->end_ns > upto)
			break;
		rc = let_go(wr, ev, e);
		ige_pending_pop(&wr->pending);
	}
	ige_pending_tidy(&wr->pending);
	return rc;
}

int ige_writer_event(struct ige_writer *wr, const struct event *ev, struct err *e)
{
	/* No file can hold times from nowhere: counted, not written. */
	if (ev->end_ns <= -IGE_TIME_MAX / 2 || ev->end_ns >= IGE_TIME_MAX / 2 ||
	    ev->dur_ns >= (uint64_t)IGE_TIME_MAX / 2) {
		wr->lost++;
		return 0;
	}
	if (!ige_dict_op(&wr->dict, ev->op))
		return err_set(e, ERR_USAGE, "event of unknown op %u", ev->op);
	if (ige_pending_count(&wr->pending) >= PENDING_MAX) {
		int rc = release(wr, INT64_MIN, PENDING_MAX / 2, e);

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

int ige_writer_flush(struct ige_writer *wr, int64_t watermark_ns, int64_t floor_ns, bool force,
		     struct err *e)
{
	bool idle;
	int rc;

	wr->watermark = watermark_ns;
	wr->floor = floor_ns;
	wr->due = watermark_ns < INT64_MIN + (int64_t)wr->opt.window_ns
			  ? INT64_MIN
			  : watermark_ns - (int64_t)wr->opt.window_ns;
	rc = release(wr, wr->due, 0, e);
	if (rc || !force)
		return rc;
	idle = !wr->rows.n && !wr->archive.held.n;
	rc = seal(wr, e);
	/* A heartbeat says how far time has come when no event does. */
	if (!rc && idle && wr->open)
		rc = write_rows(wr, &wr->rows, 0, e);
	return rc;
}

int ige_writer_cut(struct ige_writer *wr, struct err *e)
{
	int rc;

	wr->cutting = true;
	rc = wr->open || wr->rows.n || wr->late.n || wr->records.n ? seal(wr, e) : 0;
	wr->cutting = false;
	if (rc || !wr->open)
		return rc;
	rc = write_index(wr, e);
	if (!rc)
		rc = write_rows(wr, &wr->rows, IGE_LAST, e);
	ige_dict_writer_reset(&wr->dict);
	wr->open = false;
	return rc;
}

int ige_writer_finish(struct ige_writer *wr, struct err *e)
{
	int rc = release(wr, INT64_MAX, 0, e);

	if (!rc)
		rc = seal(wr, e);
	if (!rc && !wr->open)
		rc = seal(wr, e);
	/* In front of LAST, which stays the last that a reader of one pass looks at. */
	if (!rc)
		rc = write_index(wr, e);
	return rc ? rc : write_rows(wr, &wr->rows, IGE_LAST, e);
}
