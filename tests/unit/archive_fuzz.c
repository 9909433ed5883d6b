/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target archive over small databases of the older agent: every page cut off and torn,
 * every page with bits of its head, its list of cells and its cells turned, and a tree whose pages
 * share their children; and the files named as arguments (what a fuzzer found).
 */
#include "tests/fuzz/archive.c"

#include <sqlite3.h>
#include <string.h>

#include "tests/fuzz/bytes.h"
#include "tests/fuzz/files.h"
#include "tests/tap.h"

#define PAGE 512
#define DEEP 8

static const char *const schema[] = {
	"PRAGMA page_size=512",
	"CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp INTEGER, pid INTEGER,"
	" tid INTEGER, source INTEGER, op INTEGER, duration INTEGER, arg0 INTEGER, arg1 INTEGER,"
	" ret_code INTEGER, stack_hash INTEGER)",
	"CREATE TABLE sessions (id INTEGER PRIMARY KEY, started_at INTEGER, stopped_at INTEGER,"
	" cpu_cores INTEGER, mem_total INTEGER, kernel TEXT, ingero_ver TEXT, pid_filter TEXT,"
	" flags TEXT)",
	"CREATE TABLE stack_traces (hash INTEGER PRIMARY KEY, ips TEXT, frames TEXT)",
	"CREATE TABLE process_names (pid INTEGER PRIMARY KEY, name TEXT)",
	"CREATE TABLE event_aggregates (bucket INTEGER, source INTEGER, op INTEGER, pid INTEGER,"
	" count INTEGER, stored INTEGER)",
	"CREATE TABLE system_snapshots (id INTEGER PRIMARY KEY, timestamp INTEGER, cpu_pct REAL,"
	" mem_pct REAL, mem_avail INTEGER, swap_mb INTEGER, load_avg REAL)",
	"INSERT INTO sessions VALUES (1, 1774000000000000000, 1774000060000000000, 4, 16000, '6.1',"
	" 'v0.9', '100', 'record')",
	"INSERT INTO process_names VALUES (100, 'train')",
	"INSERT INTO stack_traces VALUES (5, '', '[{\"s\":\"step+0x10\",\"f\":\"train\"}]'),"
	" (6, '', '[{\"pfn\":\"main\",\"pf\":\"train.py\",\"pl\":7}]')",
	"INSERT INTO event_aggregates VALUES (1774000000000000000, 1, 3, 100, 500, 200)",
	"INSERT INTO system_snapshots VALUES (1, 1774000000000000000, 25, 50, 8000, 0, 1.5)",
	/* Calls, waits and requests of three threads. */
	"WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 239)"
	" INSERT INTO events SELECT NULL, 1774000000000000000 + n * 1000000, 100, 100 + n % 3,"
	" CASE n % 4 WHEN 0 THEN 5 WHEN 1 THEN 3 ELSE 1 END, CASE n % 4 WHEN 3 THEN 5 ELSE 1 END,"
	" 700000, 4096, n % 7, 0, 5 + n % 2 FROM i",
	NULL
};

/* indexed: by time, as the agent does. */
static void seed(struct buf *out, bool indexed)
{
	sqlite3 *db = NULL;
	unsigned char *bytes;
	sqlite3_int64 n = 0;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		abort();
	for (unsigned i = 0; schema[i]; i++) {
		if (sqlite3_exec(db, schema[i], NULL, NULL, NULL) != SQLITE_OK)
			abort();
	}
	if (indexed && sqlite3_exec(db, "CREATE INDEX at ON events(timestamp)", NULL, NULL, NULL))
		abort();
	bytes = sqlite3_serialize(db, "main", &n, 0);
	if (!bytes || n % PAGE)
		abort();
	buf_add(out, bytes, (size_t)n);
	sqlite3_free(bytes);
	sqlite3_close(db);
}

static void run(const struct buf *b, size_t n)
{
	LLVMFuzzerTestOneInput((const uint8_t *)b->p, n);
}

/* Turns bits of one place, looks, and turns them back. */
static void turned(struct buf *b, size_t at, unsigned char bits)
{
	b->p[at] = (char)(b->p[at] ^ bits);
	run(b, b->n);
	b->p[at] = (char)(b->p[at] ^ bits);
}

static unsigned each_page(struct buf *b)
{
	static const unsigned char bits[] = { 1, 2, 8, 0x80, 0xff };
	unsigned pages = 0;

	for (size_t page = 0; page < b->n; page += PAGE, pages++) {
		size_t head = page ? page : 100; /* behind the file's own head */

		run(b, page);
		run(b, page + PAGE / 2);
		/* Kind of page, free room, number of cells, where they begin, the right child, the
		 * first cells. */
		for (size_t at = head; at < head + 16; at++)
			turned(b, at, bits[replay_below(sizeof(bits))]);
		for (unsigned k = 0; k < 8; k++)
			turned(b, page + replay_below(PAGE), bits[replay_below(sizeof(bits))]);
	}
	return pages;
}

static void child(unsigned char *at, size_t page)
{
	unsigned number = (unsigned)(page / PAGE) + 1;

	at[0] = at[1] = 0;
	at[2] = (unsigned char)(number >> 8);
	at[3] = (unsigned char)number;
}

/* A tree of tables whose pages have all the same child, and that one too, down to one leaf: ten
 * thousand bytes and thousands of millions of rows. Nothing in it is wrong but that. */
static void bomb(struct buf *b)
{
	size_t root = 0, leaf[DEEP + 1], leaves = 0;
	unsigned char *copy = malloc(b->n), *p;
	unsigned cells;

	if (!copy)
		abort();
	memcpy(copy, b->p, b->n);
	for (size_t page = PAGE; page < b->n; page += PAGE) {
		if (copy[page] == 5 && !root)
			root = page;
		if (copy[page] == 13 && leaves <= DEEP)
			leaf[leaves++] = page;
	}
	if (!root || leaves <= DEEP)
		abort();
	for (unsigned k = 0; k <= DEEP; k++) {
		p = copy + (k ? leaf[k - 1] : root);
		if (k)
			memcpy(p, b->p + root, PAGE);
		cells = (unsigned)p[3] << 8 | p[4];
		child(p + 8, leaf[k]);
		for (unsigned i = 0; i < cells; i++)
			child(p + ((unsigned)p[12 + 2 * i] << 8 | p[13 + 2 * i]), leaf[k]);
	}
	LLVMFuzzerTestOneInput(copy, b->n);
	free(copy);
}

int main(int argc, char **argv)
{
	unsigned pages = 0;

	replay_files(argc, argv);
	for (int indexed = 0; indexed < 2; indexed++) {
		struct buf b = { 0 };

		seed(&b, indexed);
		run(&b, b.n);
		pages += each_page(&b);
		bomb(&b);
		for (unsigned i = 0; i < 300; i++) {
			struct buf copy = { 0 };

			buf_add(&copy, b.p, b.n);
			for (unsigned m = 1 + replay_below(5); m > 0 && copy.n; m--)
				replay_mutate(&copy);
			run(&copy, copy.n);
			buf_free(&copy);
		}
		buf_free(&b);
	}
	ok(pages > 40, "%u pages cut, torn and turned", pages);
	return tap_done();
}
