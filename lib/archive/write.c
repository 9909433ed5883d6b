/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the archive file in three parts: what SQLite made (the schema and all small tables, in an
 * unnamed database of its own), then the leaves of events, then the trees above them. The roots of
 * those trees are pages of the first part.
 */
#include "lib/archive/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/archive/sqlite_memory.h"
#include "lib/archive/archive_internal.h"

int archive_writer_new(struct archive_writer **out, struct world *w, int fd,
		       const struct archive_options *opt, struct err *e)
{
	struct archive_writer *a = calloc(1, sizeof(*a));
	int rc = 0;

	*out = NULL;
	if (!a)
		return err_nomem(e);
	a->w = w;
	a->fd = fd;
	a->opt = *opt;
	a->spool.fd = -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		rc = errno == ESPIPE ? err_set(e, ERR_CANNOT,
					       "an SQLite archive cannot be written to a pipe: "
					       "name a file with -o")
				     : err_sys(e, "cannot write an archive");
	archive_memory_watch();
	/* A database without a name is on disk as soon as it outgrows memory. */
	if (!rc && sqlite3_open_v2("", &a->db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				   NULL) != SQLITE_OK)
		rc = archive_failed(a, e);
	if (!rc)
		rc = archive_exec(
			a,
			"PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
			"PRAGMA locking_mode=EXCLUSIVE; PRAGMA application_id=0x49474541; BEGIN",
			e);
	rc = rc ? rc : archive_names_write(a, e);
	rc = rc ? rc : archive_rows_open(a, e);
	if (rc) {
		archive_writer_free(a);
		return rc;
	}
	*out = a;
	return 0;
}

/* Prefixes a system error with the archive's path. */
static int prefix_path(const struct archive_writer *a, int rc, struct err *e)
{
	return rc == ERR_SYS && a->opt.path ? err_prefix(e, "%s", a->opt.path) : rc;
}

int archive_writer_item(struct archive_writer *a, const struct stream_item *item, struct err *e)
{
	int rc = 0;

	switch (item->kind) {
	case STREAM_EVENTS:
		if (item->n && !a->node) {
			const struct world_ctx *ctx = world_get_ctx(a->w, item->events[0].ctx);

			a->node = ctx ? ctx->node : 0;
		}
		/* Where the first reading is damaged the header knows, for all events alike. */
		a->has_clock |= item->n && a->offset_ns;
		if (item->lost)
			rc = archive_facts_lost(a, item->lost, e);
		for (size_t i = 0; i < item->n && !rc; i++)
			rc = archive_rows_add(a, &item->events[i], e);
		break;
	case STREAM_RECORD:
		rc = archive_facts_add(a, item->record, e);
		break;
	case STREAM_LAST:
		a->ended = true;
		break;
	case STREAM_SEGMENT:
		if (!a->has_clock)
			a->offset_ns = item->real_minus_mono_ns;
		a->ended = false;
		break;
	}
	return prefix_path(a, rc, e);
}

/* ---- the end ---- */

void archive_writer_whole(struct archive_writer *a, bool whole)
{
	a->whole = whole;
	a->whole_known = true;
}

/* Drops the oldest minutes until the rest fits, by the average size of a row with its keys in the
 * indices. */
static void choose_minutes(struct archive_writer *a)
{
	const uint64_t key_bytes =
		60; /* of four indices, at most; three quarters of it are usual */
	uint64_t rows = a->leaves.v.n * ARCHIVE_PAGE,
		 each = a->events ? rows / a->events + key_bytes : 0, room = a->opt.max_bytes,
		 small;
	sqlite3_stmt *s = NULL;

	small = 0;
	if (!archive_prepare(a, &s, "SELECT page_count FROM pragma_page_count", NULL) &&
	    sqlite3_step(s) == SQLITE_ROW)
		small = (uint64_t)sqlite3_column_int64(s, 0) * ARCHIVE_PAGE;
	sqlite3_finalize(s);
	room = room > small ? room - small : 0;
	for (size_t i = 0; i < a->minutes.n && a->opt.max_bytes; i++) {
		const struct archive_minute *m = &a->minutes.v[i];

		if ((a->events - (m->row - 1)) * each <= room && i == 0)
			return;
		a->left_out_rows = m->row - 1;
		a->keep_from_ns = m->minute * MINUTE_NS;
		if ((a->events - a->left_out_rows) * each <= room)
			return;
	}
	/* Not even the last minute fits: it stays, for an archive without events is none. */
}

/* The header says how many pages there are, and that somebody counted. */
static void finish_header(uint8_t *small, uint32_t pages)
{
	const uint32_t version = (uint32_t)sqlite3_libversion_number();
	const uint32_t values[][2] = { { 24, 1 }, { 28, pages }, { 92, 1 }, { 96, version } };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		for (unsigned k = 0; k < 4; k++)
			small[values[i][0] + k] = (uint8_t)(values[i][1] >> (24 - 8 * k));
	}
}

static int put_together(struct archive_writer *a, struct archive_written *written, struct err *e)
{
	struct page_file f = { .fd = a->fd, .stop = a->opt.stop };
	sqlite3_int64 bytes = 0;
	uint8_t *small = sqlite3_serialize(a->db, "main", &bytes, 0);
	int rc = small ? 0 : err_nomem(e);

	if (!rc && bytes >= (sqlite3_int64)(1 << 30))
		rc = err_set(e, ERR_LIMIT, "the records and names alone take more than 1 GiB");
	if (!rc)
		f.pages = (uint32_t)(bytes / ARCHIVE_PAGE);
	rc = rc ? rc : archive_trees_write(a, &f, small, e);
	rc = rc ? rc : page_file_flush(&f, e);
	if (!rc) {
		finish_header(small, f.pages);
		for (uint32_t i = 1; i <= bytes / ARCHIVE_PAGE && !rc; i++)
			rc = page_file_patch(&f, i, small + (size_t)(i - 1) * ARCHIVE_PAGE, e);
		written->bytes = (uint64_t)f.pages * ARCHIVE_PAGE;
		written->event_bytes = written->bytes - (uint64_t)bytes;
	}
	page_file_free(&f);
	sqlite3_free(small);
	return rc;
}

int archive_writer_finish(struct archive_writer *a, struct archive_written *written, struct err *e)
{
	int rc = archive_rows_end(a, e);

	*written = (struct archive_written){ 0 };
	if (!rc && a->opt.max_bytes)
		choose_minutes(a);
	rc = rc ? rc : archive_sums_write(a, e);
	rc = rc ? rc : archive_subjects_write(a, e);
	rc = rc ? rc : archive_facts_end(a, e);
	rc = rc ? rc : archive_exec(a, a->left_out_rows ? "COMMIT; VACUUM" : "COMMIT", e);
	rc = rc ? rc : put_together(a, written, e);
	written->left_out = a->left_out_rows;
	written->events = a->events - a->left_out_rows;
	return prefix_path(a, rc, e);
}

void archive_writer_free(struct archive_writer *a)
{
	if (!a)
		return;
	archive_rows_free(a);
	archive_facts_free(a);
	map_free(&a->sum_by);
	vec_free(&a->sums);
	sqlite3_close(a->db);
	free(a);
}
