/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as an SQLite archive: events of the launch-heavy corpus to a file with its indices,
 * and how much an event takes. Beside it what the library takes for the same rows and indices of
 * the largest table by one prepared statement in one transaction, without a journal or a sync:
 * what writing its pages by hand (lib/archive/pages.h) is for. Reading the rows back, and reading
 * the recording, are not counted.
 */
#include <sqlite3.h>
#include <unistd.h>

#include "lib/archive/write.h"
#include "lib/input/input.h"
#include "tests/bench/corpus.h"

#define EVENTS 1000000

static void stop(const char *what)
{
	fprintf(stderr, "bench: archive: %s\n", what);
	exit(1);
}

/* CPU seconds of reading the recording alone. */
static double read_recording(const char *from)
{
	struct world *w = world_new();
	struct input *in = NULL;
	struct stream_item item;
	struct err e = { 0 };
	double began = bench_cpu_s();
	int rc = w ? input_open(&in, w, &from, 1, &e) : ERR_NOMEM;

	while (!rc && (rc = input_stream(in)->next(input_stream(in), &item, &e)) > 0)
		rc = 0;
	if (rc)
		stop(e.text);
	input_free(in);
	world_free(w);
	return bench_cpu_s() - began;
}

/* CPU seconds of reading all rows of table events, and of writing them by insert where there is
 * one. */
static double pass_rows(sqlite3_stmt *select, sqlite3_stmt *insert)
{
	double began = bench_cpu_s();
	int columns = sqlite3_column_count(select), rc;

	while ((rc = sqlite3_step(select)) == SQLITE_ROW) {
		for (int i = 0; i < columns; i++) {
			sqlite3_value *v = sqlite3_column_value(select, i);

			if (insert && sqlite3_bind_value(insert, i + 1, v))
				stop("a value cannot be bound");
		}
		if (insert && (sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert)))
			stop("a row cannot be inserted");
	}
	if (rc != SQLITE_DONE)
		stop("rows cannot be read");
	sqlite3_reset(select);
	return bench_cpu_s() - began;
}

static void execute(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		stop(sqlite3_errmsg(db));
}

/* Executes in `to` how table events and its indices (type) were made in the archive. */
static void make_like(sqlite3 *archive, sqlite3 *to, const char *type)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(archive,
			       "SELECT sql FROM sqlite_master WHERE tbl_name = 'events' AND "
			       "type = ?1 AND sql NOT NULL",
			       -1, &s, NULL) ||
	    sqlite3_bind_text(s, 1, type, -1, SQLITE_STATIC))
		stop("no schema");
	while (sqlite3_step(s) == SQLITE_ROW)
		execute(to, (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
}

/* CPU seconds that the library takes for the rows and indices of table events. */
static double write_by_statements(const char *archive, const char *to)
{
	sqlite3 *from, *db;
	sqlite3_stmt *select, *insert;
	struct buf sql = { 0 };
	double took, read;

	if (sqlite3_open(archive, &from) || sqlite3_open(to, &db))
		stop("no database");
	execute(db, "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -262144; BEGIN");
	make_like(from, db, "table");
	if (sqlite3_prepare_v2(from, "SELECT * FROM events", -1, &select, NULL))
		stop(sqlite3_errmsg(from));
	buf_puts(&sql, "INSERT INTO events VALUES (");
	for (int i = 0; i < sqlite3_column_count(select); i++)
		buf_puts(&sql, i ? ",?" : "?");
	buf_puts(&sql, ")");
	if (sqlite3_prepare_v2(db, sql.p, (int)sql.n, &insert, NULL))
		stop(sqlite3_errmsg(db));
	pass_rows(select, NULL);
	read = pass_rows(select, NULL);
	took = pass_rows(select, insert) - read;
	sqlite3_finalize(insert);
	sqlite3_finalize(select);
	took -= bench_cpu_s();
	make_like(from, db, "index");
	execute(db, "COMMIT");
	took += bench_cpu_s();
	buf_free(&sql);
	sqlite3_close(db);
	sqlite3_close(from);
	return took;
}

/* CPU seconds of all of it but reading the recording. */
static double run(const char *from, const char *to)
{
	struct archive_options opt = { .tool = "bench" };
	struct archive_writer *a = NULL;
	struct archive_written written = { 0 };
	struct world *w = world_new();
	struct input *in = NULL;
	struct stream_item item;
	struct err e = { 0 };
	FILE *out = fopen(to, "w+");
	double began, took;
	int rc = w && out ? input_open(&in, w, &from, 1, &e) : ERR_NOMEM;

	bench_say("archive.calibration_ns", bench_calibrate_ns(), "ns");
	began = bench_cpu_s();
	rc = rc ? rc : archive_writer_new(&a, w, fileno(out), &opt, &e);
	while (!rc && (rc = input_stream(in)->next(input_stream(in), &item, &e)) > 0)
		rc = archive_writer_item(a, &item, &e);
	rc = rc ? rc : archive_writer_finish(a, &written, &e);
	took = bench_cpu_s() - began;
	if (rc || !written.events)
		stop(e.text);
	bench_say("archive.load", (double)written.events / took / 1e6, "M events/s");
	bench_say("archive.event", (double)written.event_bytes / (double)written.events, "B");
	archive_writer_free(a);
	input_free(in);
	world_free(w);
	fclose(out);
	return took - read_recording(from);
}

int main(void)
{
	char from[] = "/var/tmp/ingero-bench-XXXXXX", to[] = "/var/tmp/ingero-bench-XXXXXX",
	     by_statements[] = "/var/tmp/ingero-bench-XXXXXX";
	int fd = mkstemp(from), other = mkstemp(to), third = mkstemp(by_statements);
	double pages, statements;

	if (fd < 0 || other < 0 || third < 0 || !bench_write_corpus(fd, EVENTS, NULL, NULL))
		return 1;
	close(fd);
	close(other);
	close(third);
	pages = run(from, to);
	statements = write_by_statements(to, by_statements);
	bench_say("archive.statements_to_pages", statements / pages, "times");
	unlink(from);
	unlink(to);
	unlink(by_statements);
	return 0;
}
