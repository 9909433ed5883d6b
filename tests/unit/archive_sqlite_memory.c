/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions at the same time: one that takes more memory than it may ends by itself, as often as it
 * is asked, and others never notice.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <unistd.h>

#include "lib/archive/ask.h"
#include "lib/archive/sqlite_memory.h"
#include "tests/tap.h"

#define ROWS   2000
#define LIGHT  300
#define MEMORY (4u << 20)

static char path[] = "/tmp/ingero-memory-XXXXXX";
static atomic_bool over;
static atomic_uint heavy, others;

static int columns(struct archive_answer *a, const char *const *names, unsigned n, struct err *e)
{
	return 0;
}

static int row(struct archive_answer *a, const struct archive_value *values, unsigned n,
	       struct err *e)
{
	return 0;
}

static int ask(struct archive_ask *q, const char *sql, uint64_t *rows)
{
	struct archive_answer answer = { columns, row };
	struct archive_asked asked = { 0 };
	struct err e;
	int rc = archive_ask_run(q, sql, &answer, &asked, &e);

	*rows = asked.rows;
	return rc;
}

static struct archive_ask *open_one(void)
{
	const struct archive_ask_limits limits = { .memory_bytes = MEMORY };
	struct archive_ask *q = NULL;
	struct err e = { 0 };

	ok(archive_ask_open(&q, path, &limits, &e) == 0, "opened: %s", e.text);
	return q;
}

/* Sorts ten times what it may hold. */
static void *takes_much(void *arg)
{
	static const char sql[] =
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
		"SELECT hex(zeroblob(200)) || i AS v FROM n ORDER BY v";
	uint64_t rows;

	do {
		if (ask(arg, sql, &rows) == ERR_LIMIT)
			heavy++;
		else
			others++;
	} while (!over);
	return NULL;
}

static void make(void)
{
	int fd = mkstemp(path);
	sqlite3 *db = NULL;

	if (fd < 0 || close(fd) || sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(
		    db,
		    "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
		    "FROM n WHERE i < 2000) SELECT i FROM n",
		    NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sqlite3_close(db);
}

int main(void)
{
	struct archive_ask *much, *little;
	unsigned bad = 0;
	pthread_t thread;
	uint64_t rows = 0;

	archive_memory_watch(); /* before SQLite's first */
	make();
	much = open_one();
	little = open_one();
	if (!much || !little || pthread_create(&thread, NULL, takes_much, much))
		abort();
	/* At least once it has run into its limit while others asked. */
	for (unsigned i = 0; i < LIGHT || (!heavy && !others); i++)
		bad += ask(little, "SELECT i FROM t ORDER BY i DESC", &rows) != 0 || rows != ROWS;
	over = true;
	pthread_join(thread, NULL);
	is_u64(bad, 0, "who takes little always has an answer");
	is_u64(others, 0, "who takes much never has: %u times", heavy);
	is_int(ask(much, "SELECT i FROM t ORDER BY i DESC", &rows), 0, "but may ask for less then");
	is_u64(rows, ROWS, "of which all is there");
	archive_ask_free(much);
	archive_ask_free(little);
	unlink(path);
	return tap_done();
}
