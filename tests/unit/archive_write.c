/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives of any size are sound to SQLite and say what the events said: rows, sums, references.
 * The schema has a place for every column and field that formats/ defines.
 */
#include <fcntl.h>
#include <sqlite3.h>

#include "lib/archive/codes.h"
#include "lib/archive/event_columns.h"
#include "lib/archive/pages.h"
#include "lib/archive/write.h"
#include "lib/base/io.h"
#include "lib/input/database_input.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define MINUTE INT64_C(60000000000)

static char path[] = "/tmp/ingero-archive-XXXXXX";
static sqlite3 *db;

static int64_t ask(const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t answer = INT64_MIN;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		answer = sqlite3_column_int64(s, 0);
	else
		printf("# %s: %s\n", sql, sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return answer;
}

static bool sound(void)
{
	sqlite3_stmt *s = NULL;
	bool is = false;

	if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		is = !strcmp((const char *)sqlite3_column_text(s, 0), "ok");
	if (!is)
		printf("# %s\n", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return is;
}

/* n events of the fixture, `apart` ns from each other; the archive is open afterwards. */
static struct archive_written make(const struct fixture *f, uint32_t n, int64_t apart, uint64_t max)
{
	struct archive_options opt = { .tool = "test", .max_bytes = max };
	struct archive_written written = { 0 };
	struct archive_writer *a = NULL;
	struct record clock = { .kind = RECORD_CLOCK };
	struct stream_item item = { .kind = STREAM_RECORD, .record = &clock };
	struct err e = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	int rc = archive_writer_new(&a, f->w, fd, &opt, &e);

	REC_SET(&clock, CLOCK, mono_ns, 0);
	REC_SET(&clock, CLOCK, real_ns, 29566667 * MINUTE);
	if (!rc)
		rc = archive_writer_item(a, &item, &e);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct event ev = fixture_event(f, i);
		struct record sample = { .kind = RECORD_SAMPLE };

		ev.end_ns = 1000000 + i * apart;
		item = (struct stream_item){ .kind = STREAM_EVENTS, .events = &ev, .n = 1 };
		rc = archive_writer_item(a, &item, &e);
		if (i % 1000)
			continue;
		REC_SET(&sample, SAMPLE, time_ns, ev.end_ns);
		REC_SET(&sample, SAMPLE, metric, METRIC_CPU_BUSY);
		REC_SET(&sample, SAMPLE, value, 12.5);
		item = (struct stream_item){ .kind = STREAM_RECORD, .record = &sample };
		if (!rc)
			rc = archive_writer_item(a, &item, &e);
	}
	if (!rc)
		rc = archive_writer_finish(a, &written, &e);
	if (rc)
		printf("# %s\n", e.text);
	archive_writer_free(a);
	close(fd);
	sqlite3_close(db);
	sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
	return written;
}

static void check_sizes(const struct fixture *f)
{
	/* around one leaf, around one inner page, and beyond */
	static const uint32_t sizes[] = { 0, 1, 2, 30, 40, 41, 42, 200, 7000, 12000, 100000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct archive_written w = make(f, sizes[i], 1000, 0);
		uint64_t dur = 0;

		for (uint32_t k = 0; k < sizes[i]; k++)
			dur += fixture_event(f, k).dur_ns;
		ok(sound(), "%u events: a database that SQLite finds sound", sizes[i]);
		is_u64(w.events, sizes[i], "all are told");
		is_i64(ask("SELECT count(*) FROM events NOT INDEXED"), sizes[i], "all are there");
		is_i64(ask("SELECT coalesce(sum(duration), 0) FROM events"), dur,
		       "of their length");
		is_i64(ask("SELECT coalesce(sum(count), 0) FROM event_aggregates"), sizes[i],
		       "counted per minute");
		is_i64(ask("SELECT coalesce(sum(sum_dur), 0) FROM event_aggregates"), dur,
		       "and summed");
		is_i64(ask("SELECT count(*) FROM events INDEXED BY idx_events_pid WHERE pid = "
			   "4242"),
		       ask("SELECT count(*) FROM events NOT INDEXED WHERE pid = 4242"),
		       "the index of processes has them");
		is_i64(ask("SELECT count(*) FROM events INDEXED BY idx_events_source_op_stack"
			   " WHERE source = 1 AND op = 3"),
		       ask("SELECT count(*) FROM events NOT INDEXED WHERE source = 1 AND op = 3"),
		       "and that of ops");
	}
}

static void check_references(void)
{
	static const char *const dangling[] = {
		"SELECT count(*) FROM events WHERE ctx NOT NULL AND ctx <> 0 AND ctx NOT IN "
		"(SELECT id FROM contexts)",
		"SELECT count(*) FROM events WHERE stack_hash <> 0 AND stack_hash NOT IN (SELECT "
		"hash FROM stack_traces)",
		"SELECT count(*) FROM events WHERE stack <> 0 AND stack NOT IN (SELECT id FROM "
		"stacks)",
		"SELECT count(*) FROM stacks WHERE hash NOT IN (SELECT hash FROM stack_traces)",
		"SELECT count(*) FROM stacks, json_each(stacks.frames) f WHERE f.value NOT IN "
		"(SELECT id FROM frames)",
		"SELECT count(*) FROM events WHERE NOT EXISTS (SELECT 1 FROM ops WHERE source_id = "
		"source AND op_id = op)",
		"SELECT count(*) FROM events WHERE source NOT IN (SELECT id FROM sources)",
	};

	for (size_t i = 0; i < sizeof(dangling) / sizeof(dangling[0]); i++)
		is_i64(ask(dangling[i]), 0, "%s", dangling[i]);
}

/* Ten minutes of which only some fit. */
static void check_limit(const struct fixture *f)
{
	const uint32_t n = 60000;
	struct archive_written w = make(f, n, MINUTE / 6000, 6 << 20);
	int64_t first;

	ok(sound(), "an archive with a limit is sound");
	ok(w.bytes <= 6 << 20, "it is no larger: %" PRIu64, w.bytes);
	ok(w.left_out && w.events + w.left_out == n, "what is left out is counted");
	is_i64(ask("SELECT count(*) FROM events"), w.events, "the rest is there");
	first = ask("SELECT min(timestamp + CASE WHEN source IN (1, 4) THEN duration ELSE 0 END) "
		    "FROM events");
	ok(first % MINUTE < MINUTE / 6000 + 1000000, "it begins with a minute");
	is_i64(ask("SELECT sum(count) FROM event_aggregates"), w.events,
	       "sums are of what is there");
	is_i64(ask("SELECT count(*) FROM sample_records WHERE time_ns < (SELECT min(end_ns) FROM "
		   "events) - 1000000"),
	       0, "samples of that time are gone too");
	is_i64(ask("SELECT min(seq) FROM events"), w.left_out + 1, "rows keep their numbers");
	check_references();
	make(f, 300, MINUTE / 6000, 4096);
	is_i64(ask("SELECT count(*) FROM events"), 300,
	       "the last minute stays, whatever the limit is");
	ok(sound(), "and is sound");
}

static void check_schema(void)
{
	struct buf text = { 0 };
	sqlite3_stmt *s = NULL;
	unsigned kinds;
	const struct record_def *records = record_builtin_all(&kinds);

	sqlite3_close(db);
	sqlite3_open(":memory:", &db);
	ok(!read_file("formats/archive.sql", &text, 1 << 20, NULL) &&
		   sqlite3_exec(db, buf_text(&text), NULL, NULL, NULL) == SQLITE_OK,
	   "formats/archive.sql is SQL as it stands");
	buf_free(&text);
	sqlite3_prepare_v2(db, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?", -1, &s, NULL);
	for (unsigned k = 0; k < kinds; k++) {
		char table[64];

		snprintf(table, sizeof(table), "%s_records", records[k].name);
		for (unsigned i = 0; i < records[k].nfields; i++) {
			sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
			sqlite3_bind_text(s, 2, records[k].fields[i].name, -1, SQLITE_STATIC);
			ok(sqlite3_step(s) == SQLITE_ROW, "formats/archive.sql has %s.%s", table,
			   records[k].fields[i].name);
			sqlite3_reset(s);
		}
	}
	for (unsigned id = 0; id < 65536; id++) {
		const struct column_def *c = column_builtin((uint16_t)id);
		const char *name = c ? archive_column_name(c) : NULL;

		if (!c)
			continue;
		sqlite3_bind_text(s, 1, "events", -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
		ok(sqlite3_step(s) == SQLITE_ROW, "formats/archive.sql has events.%s", name);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
}

/* Every op has one pair of numbers, and the way back leads to it. */
static void check_codes(void)
{
	unsigned n;
	const struct op_def *all = op_builtin_all(&n);
	struct archive_code_name c;

	for (unsigned i = 0; i < n; i++) {
		for (uint64_t write = 0; write <= 4; write++) {
			struct event ev = { .op = all[i].id };
			struct archive_code code;

			if (write < 4)
				event_set(&ev, &all[i], COL_WRITE, write);
			code = archive_code_of(&ev, &all[i]);
			if (archive_op_of(code.source, code.op) != all[i].id)
				ok(false, "%s: %d/%d leads back", all[i].name, code.source,
				   code.op);
		}
	}
	ok(n > 100, "%u ops have numbers that lead back", n);
	for (unsigned i = 0; i < n; i++)
		if (archive_op_of(all[i].source, (all[i].id & 0xff) + ARCHIVE_FOREIGN_OP) !=
		    all[i].id)
			ok(false, "%s: what came to be known since is read", all[i].name);
	n = 0;
	for (unsigned i = 0; archive_code_name(i, &c); i++) {
		struct archive_code_name d;

		for (unsigned k = 0; k < i && archive_code_name(k, &d); k++)
			n += d.code.source == c.code.source && d.code.op == c.code.op;
	}
	is_u64(n, 0, "no two ops share their numbers");
}

static void check_varint(void)
{
	static const struct {
		uint64_t x;
		unsigned n;
		uint8_t bytes[9];
	} rows[] = {
		{ 0, 1, { 0 } },
		{ 127, 1, { 0x7f } },
		{ 128, 2, { 0x81, 0 } },
		{ 16383, 2, { 0xff, 0x7f } },
		{ 16384, 3, { 0x81, 0x80, 0 } },
		{ UINT64_MAX, 9, { 255, 255, 255, 255, 255, 255, 255, 255, 255 } },
		{ (UINT64_C(1) << 56) - 1, 8, { 255, 255, 255, 255, 255, 255, 255, 0x7f } },
		{ UINT64_C(1) << 56, 9, { 0x80, 0xc0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t got[9] = { 0 };

		is_u64(archive_varint_put(got, rows[i].x), rows[i].n, "length of %" PRIx64,
		       rows[i].x);
		ok(!memcmp(got, rows[i].bytes, rows[i].n), "bytes of %" PRIx64, rows[i].x);
	}
}

static bool stops(void)
{
	return true;
}

/* While indices are built, which takes a third of the time. */
static void check_stopped(const struct fixture *f)
{
	struct archive_options opt = { .tool = "test", .stop = stops };
	struct archive_written written;
	struct archive_writer *a = NULL;
	struct err e = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	is_int(archive_writer_new(&a, f->w, fd, &opt, &e), 0, "one that will be stopped");
	for (uint32_t i = 0; i < 20000; i++) {
		struct event ev = fixture_event(f, i);

		archive_writer_item(
			a, &(struct stream_item){ .kind = STREAM_EVENTS, .events = &ev, .n = 1 },
			&e);
	}
	is_int(archive_writer_finish(a, &written, &e), ERR_INTERRUPTED, "is not finished");
	archive_writer_free(a);
	close(fd);
}

static struct {
	unsigned looks, ends;
	uint64_t events;
	bool stop;
} watched;

static bool watch(const char *of, uint64_t events, bool over)
{
	watched.looks += !strcmp(of, path);
	watched.ends += over;
	watched.events = events;
	return watched.stop;
}

/* Who reads one as a recording sees how far that is, and can end it. */
static void check_watched(const struct fixture *f)
{
	struct buf notes = { 0 }, holds = { 0 };
	struct err e = { 0 };
	int fd;

	make(f, 5000, 1000, 0);
	database_input_watch(watch);
	is_int(database_input_open(&fd, path, &notes, &holds, &e), 0, "read to its end");
	ok(watched.looks > 2 && watched.ends == 1 && watched.events == 5000, "and told of it");
	close(fd);
	watched.stop = true;
	watched.looks = watched.ends = 0;
	is_int(database_input_open(&fd, path, &notes, &holds, &e), ERR_INTERRUPTED, "given up");
	ok(fd < 0 && watched.looks == 2 && watched.ends == 1 && e.code == ERR_INTERRUPTED,
	   "at once");
	database_input_watch(NULL);
	buf_free(&notes);
	buf_free(&holds);
}

/* One appended to another, which ended or was killed: each has its own end. */
static void check_sessions(const struct fixture *f, bool killed)
{
	static const struct {
		int64_t start, end;
	} sessions[] = { { 10, 50 }, { 100, 170 } };
	struct archive_options opt = { .tool = "test" };
	struct archive_written written;
	struct archive_writer *a = NULL;
	struct err e = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	int rc = archive_writer_new(&a, f->w, fd, &opt, &e);

	for (unsigned i = 0; i < 2 && !rc; i++) {
		struct record begins = { .kind = RECORD_SESSION }, ends = { .kind = RECORD_CLOCK };
		struct stream_item item = { .kind = STREAM_RECORD, .record = &begins };

		REC_SET(&begins, SESSION, start_ns, sessions[i].start);
		REC_SET(&ends, CLOCK, mono_ns, sessions[i].end);
		REC_SET(&ends, CLOCK, source, bytes_of(killed && !i ? "tick" : "end"));
		rc = archive_writer_item(a, &item, &e);
		item.record = &ends;
		rc = rc ? rc : archive_writer_item(a, &item, &e);
	}
	rc = rc ? rc : archive_writer_finish(a, &written, &e);
	is_int(rc, 0, "an archive of two sessions");
	archive_writer_free(a);
	close(fd);
	sqlite3_close(db);
	sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
	for (unsigned i = 0; i < 2; i++) {
		char sql[80];

		snprintf(sql, sizeof(sql), "SELECT stopped_at FROM sessions WHERE started_at = %d",
			 (int)sessions[i].start);
		is_i64(ask(sql), sessions[i].end, "session %u ends when it did%s", i,
		       killed && !i ? ", killed as it was" : "");
	}
}

int main(void)
{
	struct fixture f;
	int fd = mkstemp(path);

	close(fd);
	fixture_init(&f);
	check_varint();
	check_codes();
	check_sizes(&f);
	check_references();
	check_limit(&f);
	check_sessions(&f, false);
	check_sessions(&f, true);
	check_watched(&f);
	check_stopped(&f);
	check_schema();
	sqlite3_close(db);
	unlink(path);
	world_free(f.w);
	return tap_done();
}
