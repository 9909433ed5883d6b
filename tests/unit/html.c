/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page in HTML: whatever a recording holds is text there and never markup, marks become tables,
 * bars and curves of numbers alone, and no text makes a page without end.
 */
#include "tests/tap.h"

#include "lib/query/sections_internal.h"
#include "lib/base/marks.h"
#include "lib/base/plot.h"
#include "lib/base/table.h"
#include "lib/html/html_text.h"
#include "lib/stat/series.h"

static const char *blocks(const char *text)
{
	static struct buf out;

	buf_reset(&out);
	html_blocks(&out, bytes_of(text));
	return buf_text(&out);
}

static const char *escaped(const char *text, size_t most)
{
	static struct buf out;

	buf_reset(&out);
	html_escape(&out, bytes_of(text), most);
	return buf_text(&out);
}

/* Only the tags we make, whose attributes hold nothing of the text: all others were escaped. */
static void hostile(void)
{
	static const char *const evil[] = {
		"<script>alert(1)</script>",
		"</p></section><img src=x onerror=alert(1)>",
		"\" onmouseover=\"alert(1)",
		"' onmouseover='alert(1)",
		"&lt;b&gt;",
		"\x02<b>\x1f<i>\x1f\x1e<u>\x1f<s>\x1f\x1e\x03",
		"a\x10"
		"c<b>;<i>,<u>\x11z",
		"a\x10"
		"b0.5;<svg onload=x>\x11z",
		"\x05<b>\x06<i>",
		"\033[36m<b>\033[0m",
		"\033[31;<b>m<i>",
		"    $ <b>rm</b> \"x\"",
		"\x02\x1f\x1f\x1f\x1e\x1f\x1e",
		"\x02",
		"\x10",
		"\x05",
		"\033[",
		"a\x10"
		"c1;1e999,nan,-5\x11",
	};

	for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++) {
		const char *out = blocks(evil[i]);
		bool tame = !strstr(out, "<b>") && !strstr(out, "<i>") && !strstr(out, "<u>") &&
			    !strstr(out, "<s>") && !strstr(out, "<script") &&
			    !strstr(out, "<img") && !strstr(out, "onload=x>") &&
			    !strstr(out, "\" onmouse") && !strstr(out, "nan");

		ok(tame, "text %zu stays text", i);
		for (const char *p = out; *p; p++)
			tame &= (unsigned char)*p >= 0x20 || *p == '\n';
		ok(tame, "text %zu: no control character is left", i);
	}
	is_str(escaped("a<b>\"'&", 0), "a&lt;b&gt;&quot;&#39;&amp;", "what is special is escaped");
	is_str(escaped("x\xff\x01y", 0), "x\xef\xbf\xbd\xef\xbf\xbdy",
	       "what is no text is replaced");
	is_str(escaped("a\xe2\x80\xaez", 0), "a\xef\xbf\xbdz",
	       "nothing turns the direction of the text");
	is_str(escaped("a\xc3\xa9z", 2), "a\xe2\x80\xa6", "cut between two characters");
}

static void drawn(void)
{
	static const char *const headers[] = { "op", ">count", NULL };
	static const double v[3] = { 0, 1, 2 };
	struct table *t = table_new(headers);
	struct buf text = { 0 };
	const char *out;

	table_cell(t, "<cuda>");
	table_cell(t, "12");
	table_cell(t, "x");
	table_cell(t, "-");
	table_fold(&text, t, 2, true, MARKS_COLUMNS);
	out = blocks(buf_text(&text));
	like(out, "<th>op</th><th class=\"n\">count</th>", "headers");
	like(out, "<td class=\"\" data-h=\"op\">&lt;cuda&gt;</td>",
	     "a cell with its column's name");
	like(out, "<td class=\"n\" data-h=\"count\">12</td>", "a number");
	like(out, "<td class=\"n e\" data-h=\"count\">-</td>", "a cell that says nothing");
	buf_reset(&text);
	buf_puts(&text, "  CPU   ");
	plot_bar(&text, 0.25, 10, PLOT_MARKS, true, FMT_RED);
	buf_puts(&text, " busy  ");
	plot_spark(&text, v, 3, 2, PLOT_MARKS);
	out = blocks(buf_text(&text));
	like(out, "<span class=\"k\">CPU</span>", "the label of a bar");
	like(out, "class=\"b s3\"", "a bar in its colour");
	like(out, "<rect width=\"25.00\"", "as long as its share");
	like(out, "<span class=\"v\">busy</span>", "what it says");
	like(out, "M0.0 39.0L150.0 20.0L300.0 1.0", "a curve from nothing to its top");
	like(blocks("\033[36mHost\033[0m"), "<h3>Host</h3>", "a heading");
	like(blocks("                  $ \033[36mrenice -n 19 <1>\033[0m"),
	     "<pre class=\"sh\"><code><span class=\"t36\">renice -n 19 "
	     "&lt;1&gt;</span></code></pre>",
	     "a command");
	like(blocks("                  | \033[36mx = f(1)\033[0m"),
	     "<pre><code><span class=\"t36\">x = f(1)</span></code></pre>",
	     "lines for the program, which no shell takes");
	like(blocks("\x05"
		    "Culprit\x06x"),
	     "<div class=\"f\"><span class=\"k\">Culprit</span><span>x</span></div>", "a fact");
	like(blocks("\x05"
		    "Timeline\x06"),
	     "<h4>Timeline</h4>", "a heading of what follows");
	buf_free(&text);
	table_free(t);
}

static void bounded(void)
{
	struct buf text = { 0 }, out = { 0 };

	for (unsigned i = 0; i < 1000000; i++)
		buf_puts(&text, "<<<<<<<<\n");
	html_blocks(&out, buf_bytes(&text));
	ok(out.n < 16 * HTML_PART_MOST, "a part is cut: %zu bytes", out.n);
	like(buf_text(&out), "left out here", "and says so");
	buf_reset(&text);
	buf_reset(&out);
	buf_puts(&text, "\x02"
			"a\x1f\x1e");
	for (unsigned i = 0; i < 5000; i++)
		buf_puts(&text, "x\x1f\x1e");
	buf_puts(&text, "\x03");
	html_blocks(&out, buf_bytes(&text));
	like(buf_text(&out), "and 4800 more", "rows that are too many are counted");
	buf_free(&text);
	buf_free(&out);
}

/* Intervals of any length: what is counted in all points is what was taken. */
static void course(void)
{
	struct parts parts = { 0 };
	struct line_piece p = { .parts = &parts };
	struct query_loss_series c = { 0 };
	uint64_t seed = 7, told = 0, sum = 0;
	struct view v = { 0 };

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t ns;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		p.start_ns = (int64_t)(seed >> 28);
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		p.end_ns = p.start_ns + (int64_t)(seed >> (30 + i % 30));
		ns = (uint64_t)(p.end_ns - p.start_ns);
		parts = (struct parts){ 0 };
		parts_add(&parts, PART_DISK, 0, ns / 3);
		parts_add(&parts, PART_SELF, 0, ns - ns / 3);
		told += ns / 3;
		query_loss_series_piece(&c, &p);
	}
	query_loss_series_rows(&c, &v);
	ok(v.lost[PART_DISK] && !v.lost[PART_SELF], "what the host takes has a course");
	for (unsigned i = 0; v.lost[PART_DISK] && i < v.lost[PART_DISK]->n; i++)
		sum += v.lost[PART_DISK]->v[i].n;
	is_u64(sum, told, "to the nanosecond");
	query_loss_series_free(&c);
	c = (struct query_loss_series){ 0 };
	parts = (struct parts){ 0 };
	parts_add(&parts, PART_LOCK, 0, 4000);
	p.start_ns = 500000;
	p.end_ns = 4500000;
	query_loss_series_piece(&c, &p);
	is_u64(c.lost[PART_LOCK]->n, 5, "an interval lies in every span it touches");
	is_u64(c.lost[PART_LOCK]->v[0].n, 500, "with its share of the first");
	is_u64(c.lost[PART_LOCK]->v[2].n, 1000, "of one in the middle");
	is_u64(c.lost[PART_LOCK]->v[4].n, 500, "and of the last");
	query_loss_series_free(&c);
}

int main(void)
{
	hostile();
	drawn();
	bounded();
	course();
	return tap_done();
}
