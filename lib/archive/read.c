/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an archive as an event stream: one cursor over events in the order of their rows, one over
 * each kind of record.
 */
#include "lib/archive/read.h"

#include <stdlib.h>
#include <string.h>

#include "lib/archive/codes.h"
#include "lib/archive/event_columns.h"
#include "lib/archive/read_internal.h"
#include "lib/base/buf.h"

#define BATCH	1024
#define VERSION 1 /* schema_info 'archive' */

enum { E_SEQ, E_END, E_DURATION, E_SOURCE, E_OP, E_DEPTH, E_RET, E_CTX, E_STACK, E_COLUMNS };

/* ---- one row ---- */

static void set_column(struct archive_reader *r, struct event *ev, const struct op_def *def,
		       uint16_t id, int64_t value)
{
	const struct column_def *c = world_column(r->w, id);
	int kind = c ? world_kind_of_role(c->role) : -1;

	event_set(ev, def, id,
		  kind < 0 ? (uint64_t)value : read_id(r, (enum world_kind)kind, value));
}

/* Sets the event's values that are in event_values, not in the row. */
static int read_extra_values(struct archive_reader *r, int64_t seq, struct event *ev,
			     const struct op_def *def, struct err *e)
{
	int rc = 0;

	while (r->has_more && !rc && sqlite3_column_int64(r->more, 0) <= seq) {
		int64_t id = sqlite3_column_int64(r->more, 1);

		if (sqlite3_column_int64(r->more, 0) == seq && def && id > 0 && id < 65536)
			set_column(r, ev, def, (uint16_t)id, sqlite3_column_int64(r->more, 2));
		rc = archive_database_next(r->db, r->path, r->more, e);
		r->has_more = rc > 0;
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

/* 1: *ev is the row's; 0: it cannot be. */
static int read_event(struct archive_reader *r, struct event *ev, struct err *e)
{
	sqlite3_stmt *s = r->events;
	int64_t dur = sqlite3_column_int64(s, E_DURATION), end = sqlite3_column_int64(s, E_END),
		depth = sqlite3_column_int64(s, E_DEPTH), seq = sqlite3_column_int64(s, E_SEQ),
		start;
	const struct op_def *def;
	int rc;

	*ev = (struct event){ .op = archive_op_of(sqlite3_column_int64(s, E_SOURCE),
						  sqlite3_column_int64(s, E_OP)) };
	def = ev->op ? world_op(r->w, ev->op) : NULL;
	rc = read_extra_values(r, seq, ev, def, e);
	if (rc)
		return rc;
	if (!def) {
		r->told.unmapped++;
		return 0;
	}
	if (dur < 0 || __builtin_sub_overflow(end, dur, &start) || depth < 0 ||
	    depth > UINT16_MAX) {
		r->told.impossible++;
		return 0;
	}
	ev->end_ns = end;
	ev->dur_ns = (uint64_t)dur;
	ev->depth = (uint16_t)depth;
	ev->ret = (int32_t)sqlite3_column_int64(s, E_RET);
	ev->ctx = read_id(r, WORLD_CTX, sqlite3_column_int64(s, E_CTX));
	ev->stack = read_id(r, WORLD_STACK, sqlite3_column_int64(s, E_STACK));
	for (unsigned i = 0; i < def->ncols; i++) {
		int at = r->column_of[def->cols[i]];

		if (at && sqlite3_column_type(s, at) != SQLITE_NULL)
			set_column(r, ev, def, def->cols[i], sqlite3_column_int64(s, at));
	}
	return 1;
}

/* How many events were lost before the row seq. */
static int read_lost(struct archive_reader *r, int64_t seq, uint64_t *lost, struct err *e)
{
	int rc = 0;

	while (r->has_lost && !rc && sqlite3_column_int64(r->lost, 0) < seq) {
		if (sqlite3_column_int64(r->lost, 1) > 0)
			*lost += (uint64_t)sqlite3_column_int64(r->lost, 1);
		rc = archive_database_next(r->db, r->path, r->lost, e);
		r->has_lost = rc > 0;
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

static int next_row(struct archive_reader *r, struct err *e)
{
	int rc = archive_database_next(r->db, r->path, r->events, e);

	r->has_event = rc > 0;
	return rc < 0 ? rc : 0;
}

/* ---- the stream ---- */

static int next_record(struct archive_reader *r, struct read_cursor *c, struct stream_item *item)
{
	read_records_take(r, c);
	*item = (struct stream_item){ .kind = STREAM_RECORD,
				      .record = &r->record,
				      .watermark_ns = INT64_MIN,
				      .floor_ns = INT64_MIN };
	return 1;
}

static int stream_next(struct event_stream *stream, struct stream_item *item, struct err *e)
{
	struct archive_reader *r = (struct archive_reader *)stream;
	struct read_cursor *c;
	struct event ev;
	int rc = 0;

	/* The texts of the one before were its row's. */
	if (r->late_names_record) {
		c = r->late_names_record;
		r->late_names_record = NULL;
		rc = read_records_pass(r, c, e);
		if (rc)
			return rc;
	}
	r->batch.n = 0;
	*item = (struct stream_item){ .kind = STREAM_EVENTS, .floor_ns = INT64_MIN };
	while (!rc && r->batch.n < BATCH && !item->late) {
		int64_t seq = r->has_event ? sqlite3_column_int64(r->events, E_SEQ) : INT64_MAX;

		c = read_records_before(r, seq);
		if (c && !r->batch.n && !item->lost) {
			r->late_names_record = c;
			return next_record(r, c, item);
		}
		if (c || (r->batch.n && r->has_lost && sqlite3_column_int64(r->lost, 0) < seq))
			break;
		rc = read_lost(r, seq, &item->lost, e);
		if (rc || !r->has_event)
			break;
		if (sqlite3_column_int64(r->events, E_END) < r->emitted_ns && r->batch.n)
			break;
		rc = read_event(r, &ev, e);
		if (rc > 0) {
			item->late = ev.end_ns < r->emitted_ns;
			if (!item->late)
				r->emitted_ns = ev.end_ns;
			rc = vec_push(&r->batch, ev) ? 0 : err_nomem(e);
		}
		rc = rc ? rc : next_row(r, e);
	}
	if (rc < 0)
		return rc;
	item->events = r->batch.v;
	item->n = r->batch.n;
	item->watermark_ns = r->emitted_ns;
	return r->batch.n > 0 || item->lost;
}

static void stream_close(struct event_stream *s)
{
	/* The reader's own. */
}

/* ---- opening ---- */

static int64_t read_info(struct archive_reader *r, const char *key, int64_t otherwise)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(r->db,
			       "SELECT CAST(value AS INTEGER) FROM main.schema_info WHERE key = ?",
			       -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
		if (sqlite3_step(s) == SQLITE_ROW)
			otherwise = sqlite3_column_int64(s, 0);
	}
	archive_database_asked(r->db);
	sqlite3_finalize(s);
	return otherwise;
}

static void read_recordings(struct archive_reader *r)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(r->db, "SELECT value FROM main.schema_info WHERE key = 'recordings'",
			       -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0))
		buf_puts(&r->recordings, (const char *)sqlite3_column_text(s, 0));
	archive_database_asked(r->db);
	sqlite3_finalize(s);
	r->told.recordings = buf_text(&r->recordings);
}

static bool is_archive(sqlite3 *db)
{
	static const char *const tables[] = { "events", "schema_info", "contexts", "nodes" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!archive_database_table(db, tables[i]))
			return false;
	}
	return archive_database_column(db, "events", "end_ns");
}

static int prepare_events(struct archive_reader *r, struct err *e)
{
	static const char *const more[] = { "seq", "column", "value" };
	static const char *const lost[] = { "after_seq", "count" };
	struct buf sql = { 0 };
	int at = E_COLUMNS, rc = 0;

	buf_puts(&sql, "SELECT seq, end_ns, duration, source, op, depth, ret_code, ctx, stack");
	for (unsigned id = 1; id < 65536; id++) {
		const struct column_def *c = column_builtin((uint16_t)id);

		if (!c || !archive_database_column(r->db, "events", archive_column_name(c)))
			continue;
		buf_printf(&sql, ", \"%s\"", archive_column_name(c));
		r->column_of[id] = at++;
	}
	buf_puts(&sql, " FROM main.events ORDER BY seq");
	if (sql.failed)
		rc = err_nomem(e);
	else if (sqlite3_prepare_v2(r->db, buf_text(&sql), -1, &r->events, NULL) != SQLITE_OK)
		rc = archive_database_failed(r->db, r->path, e);
	buf_free(&sql);
	rc = rc ? rc : next_row(r, e);
	rc = rc ? rc
		: archive_database_select(r->db, r->path, &r->more, "event_values", more, 3,
					  "ORDER BY seq, \"column\"", e);
	if (!rc) {
		rc = archive_database_next(r->db, r->path, r->more, e);
		r->has_more = rc > 0;
		rc = rc < 0 ? rc : 0;
	}
	rc = rc ? rc
		: archive_database_select(r->db, r->path, &r->lost, "lost_events", lost, 2,
					  "ORDER BY after_seq", e);
	if (!rc) {
		rc = archive_database_next(r->db, r->path, r->lost, e);
		r->has_lost = rc > 0;
	}
	return rc < 0 ? rc : 0;
}

/* Whether the archive is of several machines. A node without id and boot stands for an unknown
 * machine and does not count. */
static bool is_joined(const struct archive_reader *r)
{
	static const uint8_t none[16];
	unsigned machines = 0;

	for (uint32_t id = 1; id <= world_count(r->w, WORLD_NODE); id++) {
		const struct world_node *node = world_get_node(r->w, id);

		machines += node->boot || memcmp(node->uuid, none, sizeof(none)) != 0;
	}
	return machines > 1;
}

static int prepare_reader(struct archive_reader *r, struct err *e)
{
	const struct world_node *node;
	int64_t version = read_info(r, "archive", 0);
	int rc;

	if (version > VERSION)
		return err_set(e, ERR_TOO_NEW, "%s is an archive of a newer version", r->path);
	rc = read_subjects(r, e);
	rc = rc ? rc : prepare_events(r, e);
	rc = rc ? rc : read_records_open(r, e);
	node = world_get_node(r->w, read_id(r, WORLD_NODE, read_info(r, "node", 0)));
	if (node) {
		memcpy(r->told.node_uuid, node->uuid, sizeof(r->told.node_uuid));
		r->told.boot = node->boot;
	}
	if (!is_joined(r))
		r->told.real_minus_mono_ns = read_info(r, "clock_offset_ns", 0);
	read_recordings(r);
	r->told.complete = read_info(r, "complete", 0);
	r->told.left_out = (uint64_t)read_info(r, "left_out_events", 0);
	r->told.salt = (uint64_t)(r->has_event ? sqlite3_column_int64(r->events, E_END) : 0);
	return rc;
}

int archive_reader_open(struct archive_reader **out, struct world *w, const char *path,
			struct err *e)
{
	struct archive_reader *r = calloc(1, sizeof(*r));
	int rc = r && (r->path = strdup(path)) ? 0 : err_nomem(e);
	bool ours = false;

	*out = NULL;
	if (rc == 0) {
		r->w = w;
		r->emitted_ns = INT64_MIN;
		r->stream = (struct event_stream){ stream_next, stream_close };
		rc = archive_database_open(&r->db, path, e);
	}
	if (rc == 0)
		rc = archive_database_bound(r->db, path, e);
	if (rc == 0 && is_archive(r->db)) {
		ours = true;
		rc = prepare_reader(r, e);
	}
	if (rc || !ours) {
		archive_reader_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

void archive_reader_free(struct archive_reader *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->ncursors; i++)
		sqlite3_finalize(r->cursors[i].s);
	sqlite3_finalize(r->events);
	sqlite3_finalize(r->more);
	sqlite3_finalize(r->lost);
	sqlite3_close(r->db);
	for (unsigned i = 0; i < WORLD_KINDS; i++)
		map_free(&r->ids[i]);
	vec_free(&r->batch);
	buf_free(&r->recordings);
	free(r->path);
	free(r);
}

struct event_stream *archive_reader_stream(struct archive_reader *r)
{
	return &r->stream;
}

const struct archive_reader_told *archive_reader_told(const struct archive_reader *r)
{
	return &r->told;
}
