/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables written once (report/report_columns.h): what people see of each kind of value, what JSON
 * has, and what neither has.
 */
#include "lib/report/report_columns.h"
#include "tests/tap.h"

struct row {
	const struct op_def *op;
	uint64_t count, bad, p50_ns, bytes, handle;
	struct estimate all;
	uint32_t pid;
	double share;
	bool ended;
};
#define ROW row

enum { SOME = 1, OTHERS = 2 };

static bool is_ended(const void *r)
{
	return ((const struct row *)r)->ended;
}

static void own_cell(struct table *t, const struct columns_with *with, const void *r)
{
	(void)with;
	table_cell(t, "own %llu", (unsigned long long)((const struct row *)r)->count);
}

static const struct column columns[] = {
	{ "count", ">count", COLUMN_COUNT, ALL(count) },
	{ "bad", ">bad", COLUMN_BAD, AT(bad) },
	{ "p50_ns", ">p50", COLUMN_QUANTILE, AT(p50_ns), OF(count) },
	{ .kind = COLUMN_ESTIMATE, AT(all), OF(count) },
	{ "bytes", ">bytes", COLUMN_BYTES, AT(bytes), .absent = is_ended },
	{ "handle", NULL, COLUMN_HANDLE, AT(handle), .maybe = true },
	{ "op", "op", COLUMN_OP, AT(op), .none = "?" },
	{ "pid", NULL, COLUMN_NUMBER32, AT(pid) },
	{ "share", NULL, COLUMN_REAL, AT(share), .events = true },
	{ "ended", NULL, COLUMN_BOOL, AT(ended), .member = OTHERS },
	{ NULL, "some", .cell = own_cell, .when = SOME },
	{ NULL, "seen", .cell = own_cell, .events = true },
};
static const struct columns table = COLUMNS_ESTIMATED("rows", columns);

static const struct row few = { .count = 3,
				.all = { .count = 3 },
				.bad = 2,
				.p50_ns = 1500,
				.bytes = 2048,
				.handle = 255,
				.pid = 7,
				.share = 0.5 };
static const struct row none = { .ended = true };
static const struct row about = { .count = 200,
				  .p50_ns = 1500,
				  .all = { .is = true, .count = 400 } };

/* What people see of it: cells, without what aligns them. */
static const char *people(const struct row *r, const struct columns_with *with)
{
	static char text[512];
	struct table *t = columns_table(&table, with, NULL);
	struct buf out = { 0 };
	size_t n = 0;

	columns_cells(t, &table, with, r);
	table_text(&out, t, 0, false);
	for (const char *p = buf_text(&out); *p && n + 1 < sizeof(text); p++)
		if (*p != ' ' || (n && text[n - 1] != ' ' && text[n - 1] != '\n'))
			text[n++] = *p;
	text[n] = 0;
	table_free(t);
	buf_free(&out);
	return text;
}

static const char *json(const struct row *r, const struct columns_with *with)
{
	static char text[512];
	struct buf out = { 0 };
	struct jsonw j;

	jsonw_init(&j, &out, false);
	jsonw_object_begin(&j);
	columns_json(&j, &table, with, r, 1);
	jsonw_object_end(&j);
	snprintf(text, sizeof(text), "%s", buf_text(&out));
	buf_free(&out);
	return text;
}

static void test_people(void)
{
	const struct ops_summary s = { 0 }, brief = { .brief = true };
	struct columns_with with = { .s = &s };

	is_str(people(&few, &with), "count bad p50 bytes op seen\n3 2 *1.50 us 2.0 KiB ? own 3\n",
	       "few: the quantile is marked, what has no name is what the column says");
	is_str(people(&none, &with), "count bad p50 bytes op seen\n0 - - - ? own 0\n",
	       "nothing: a dash for what is not there");
	is_str(people(&about, &with), "count bad p50 bytes op seen\n~400 - 1.50 us 0 B ? own 200\n",
	       "an estimate: it, behind its mark");
	with.shown = SOME;
	is_str(people(&none, &with), "count bad p50 bytes op some seen\n0 - - - ? own 0 own 0\n",
	       "a column of some tables stands in those");
	with.s = &brief;
	is_str(people(&none, &with), "count bad p50 bytes op some\n0 - - - ? own 0\n",
	       "where no events were looked at, what needs them is not there");
}

static void test_json(void)
{
	const struct ops_summary s = { 0 }, brief = { .brief = true };
	struct columns_with with = { .s = &s };

	is_str(json(&few, &with),
	       "{\"rows\":[{\"count\":3,\"bad\":2,\"p50_ns\":1500,\"bytes\":2048,"
	       "\"handle\":\"0xff\",\"op\":null,\"pid\":7,\"share\":0.5}]}",
	       "members in the order of the columns");
	with.shown = OTHERS;
	is_str(json(&none, &with),
	       "{\"rows\":[{\"count\":0,\"bad\":0,\"p50_ns\":0,\"bytes\":0,\"handle\":null,"
	       "\"op\":null,\"pid\":null,\"share\":0,\"ended\":true}]}",
	       "what is not known is null; a member of some tables is in those");
	with.s = &brief;
	like(json(&none, &with), "\"share\":null", "null where no events were looked at");
	with = (struct columns_with){ .s = &s };
	like(json(&about, &with), "\"count\":200", "JSON has what was counted");
	like(json(&about, &with), "\"estimated_count\":400", "and the estimate beside it");
}

static void test_rows(void)
{
	const struct ops_summary s = { 0 };
	const struct columns_with with = { .s = &s };
	const struct report_text_style st = { 0 };
	const struct row rows[3] = { few, none, about };
	struct buf out = { 0 };

	columns_text(&out, &table, &with, rows, 0, 0, 2, &st);
	is_u64(out.n, 0, "of no rows no table");
	columns_text(&out, &table, &with, rows, 3, 2, 2, &st);
	like(buf_text(&out), "\n  1 row more", "the others are counted");
	ok(!out.failed, "all of it was written");
	buf_free(&out);
}

int main(void)
{
	test_people();
	test_json();
	test_rows();
	return tap_done();
}
