/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with one line to a row, and pages of any size: what is shown of them at each width and
 * height. */
#include <string.h>

#include "lib/base/page.h"
#include "lib/base/table.h"
#include "tests/tap.h"

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static size_t widest(const char *text)
{
	size_t most = 0, n = 0;

	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
		most = n > most ? n : most;
	}
	return most;
}

static struct table *calls(void)
{
	struct table *t = table_new((const char *const[]){ "Runtime API (2)", ">count", ">p50",
							   ">p99", ">max", "detail", NULL });

	table_cell(t, "cudaStreamSynchronizeWithAVeryLongNameIndeed");
	table_cell(t, "1,234,567");
	table_cell(t, "12.3 us");
	table_cell(t, "140 us");
	table_cell(t, "1.20 s");
	table_cell(t, "of stream 7 beside a copy of 4,096 bytes");
	table_cell(t, "cudaMalloc");
	table_cell(t, "3");
	table_cell(t, "*8.20 us");
	table_cell(t, "*9.10 us");
	table_cell(t, "9.10 us");
	table_cell(t, "-");
	return t;
}

static void test_narrow(void)
{
	static const unsigned leave_out[] = { 4, 2, 0 };
	static const struct {
		unsigned columns;
		const char *has, *has_not;
	} rows[] = {
		{ 0, "bytes", NULL },
		{ 200, "cudaStreamSynchronizeWithAVeryLongNameIndeed", ".." },
		{ 120, "of stream 7 beside a copy", NULL },
		{ 100, "max", NULL },
		{ 80, "p50", "max" },
		{ 70, "p99", "p50" },
		{ 60, "count", "p50" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct table *t = calls();
		struct buf out = { 0 };

		table_narrow(&out, t, 0, false, rows[i].columns, leave_out);
		is_u64(lines_of(buf_text(&out)), 3, "%u columns: a line to a row", rows[i].columns);
		ok(!rows[i].columns || widest(buf_text(&out)) <= rows[i].columns,
		   "%u columns: at most", rows[i].columns);
		like(buf_text(&out), rows[i].has, "%u columns: '%s' is there", rows[i].columns,
		     rows[i].has);
		ok(!rows[i].has_not || !strstr(buf_text(&out), rows[i].has_not),
		   "%u columns: '%s' is not", rows[i].columns,
		   rows[i].has_not ? rows[i].has_not : "");
		like(buf_text(&out), "cudaMalloc", "%u columns: short names are whole",
		     rows[i].columns);
		buf_free(&out);
		table_free(t);
	}
	for (unsigned columns = 56; columns < 160; columns++) {
		struct table *t = calls();
		struct buf out = { 0 };

		table_narrow(&out, t, 0, false, columns, leave_out);
		if (widest(buf_text(&out)) > columns)
			ok(false, "%u columns: wider: %s", columns, buf_text(&out));
		buf_free(&out);
		table_free(t);
	}
}

static void fill(struct buf *out, const char *name, unsigned rows)
{
	buf_printf(out, "%s (%u)\n", name, rows);
	for (unsigned i = 0; i < rows; i++)
		buf_printf(out, "%s row %u\n", name, i);
}

static void make(struct page *p, unsigned processes)
{
	struct page_section *s;

	*p = (struct page){ .columns = 80 };
	buf_puts(&p->head, "host\nsystem\n");
	buf_puts(&p->foot, "found: HIGH\ncoverage\n");
	s = page_add(p, 'p', "processes", PAGE_SECOND);
	fill(&s->brief, "processes", processes);
	fill(&s->full, "processes", processes);
	s = page_add(p, 'r', "runtime", PAGE_FIRST);
	fill(&s->brief, "runtime", 6);
	fill(&s->full, "runtime whole", 6);
	s = page_add(p, 'd', "driver", PAGE_SECOND);
	fill(&s->brief, "driver", 9);
	fill(&s->full, "driver whole", 90);
	s = page_add(p, 'h', "host", PAGE_SECOND);
	fill(&s->brief, "host", 9);
	fill(&s->full, "host whole", 9);
	page_add(p, 's', "behind a key alone", PAGE_THIRD);
	s = page_add(p, 't', "time", PAGE_THIRD);
	fill(&s->brief, "time", 20);
	fill(&s->full, "time", 20);
}

static void test_heights(void)
{
	static const struct {
		unsigned processes, rows;
		const char *has[6];
	} rows[] = {
		{ 1,
		  24,
		  { "processes row 0", "runtime row 5", "driver row 2", "host row 2", "coverage",
		    "? help" } },
		{ 8,
		  24,
		  { "processes row 2", "runtime row 5", "driver row 2", "found: HIGH", "coverage",
		    "? help" } },
		{ 8,
		  12,
		  { "processes row 0", "runtime row 1", "host\n", "found: HIGH", "coverage",
		    "? help" } },
		{ 1,
		  40,
		  { "runtime row 5", "driver row 8", "host row 8", "coverage", "host\n",
		    "? help" } },
		{ 8,
		  60,
		  { "processes row 7", "driver row 8", "host row 8", "time row 9", "coverage",
		    "? help" } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct page_look look = { 0 };
		struct buf out = { 0 };
		struct page p;

		make(&p, rows[i].processes);
		page_text(&out, &p, &look, rows[i].rows);
		for (unsigned k = 0; k < 6; k++)
			like(buf_text(&out), rows[i].has[k], "%u processes, %u rows: '%s'",
			     rows[i].processes, rows[i].rows, rows[i].has[k]);
		buf_free(&out);
		page_free(&p);
	}
	for (unsigned height = 4; height < 100; height++) {
		static const char looks[] = { PAGE_SHARED, PAGE_WHOLE, PAGE_HELP, 'd', 'x' };

		for (unsigned k = 0; k < sizeof(looks); k++) {
			struct page_look look = { .key = looks[k], .offset = 1000 };
			struct buf out = { 0 };
			struct page p;

			make(&p, height % 9);
			page_text(&out, &p, &look, height);
			/* The last line has no end: the terminal would scroll. */
			if (lines_of(buf_text(&out)) + 1 != height)
				ok(false, "%u rows of look %u: %u lines", height, k,
				   lines_of(buf_text(&out)) + 1);
			buf_free(&out);
			page_free(&p);
		}
	}
}

static void test_keys(void)
{
	static const struct {
		int key;
		char look;
		unsigned offset;
		bool means;
		const char *shows;
	} steps[] = {
		{ 'z', PAGE_SHARED, 0, false, "runtime row 0" },
		{ 'd', 'd', 0, true, "driver whole row 0" },
		{ PAGE_DOWN, 'd', 1, true, "driver whole row 0" },
		{ PAGE_ON, 'd', 20, true, "driver whole row 19" },
		{ PAGE_END, 'd', 72, true, "driver whole row 89" },
		{ PAGE_BACK, 'd', 53, true, "driver whole row 53" },
		{ PAGE_TOP, 'd', 0, true, "driver whole (90)" },
		{ 'r', 'r', 0, true, "runtime whole row 5" },
		{ 'r', PAGE_SHARED, 0, true, "runtime row 0" },
		{ PAGE_DOWN, PAGE_WHOLE, 0, true, "processes row 0" },
		{ 'j', PAGE_WHOLE, 1, true, "processes row 0" },
		{ 'k', PAGE_WHOLE, 0, true, "processes (2)" },
		{ '?', PAGE_HELP, 0, true, "leave this view" },
		{ PAGE_ESCAPE, PAGE_SHARED, 0, true, "runtime row 0" },
	};
	struct page_look look = { 0 };
	struct page p;

	make(&p, 2);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct buf out = { 0 };

		is_int(page_turn(&p, &look, steps[i].key, 24), steps[i].means, "step %zu: a key",
		       i);
		page_text(&out, &p, &look, 24);
		is_int(look.key, steps[i].look, "step %zu: what is looked at", i);
		is_u64(look.offset, steps[i].offset, "step %zu: how far down", i);
		like(buf_text(&out), steps[i].shows, "step %zu: what is shown", i);
		buf_free(&out);
	}
	page_free(&p);
}

int main(void)
{
	test_narrow();
	test_heights();
	test_keys();
	return tap_done();
}
