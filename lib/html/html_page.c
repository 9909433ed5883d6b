/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the HTML page together: its sections in order, with the head above and the coverage
 * below. */
#include "lib/html/html_page.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/fmt.h"
#include "lib/base/marks.h"
#include "lib/base/timetext.h"
#include "lib/base/utf8.h"
#include "lib/html/html_internal.h"
#include "lib/html/html_style.h"
#include "lib/html/html_text.h"
#include "lib/report/ops_coverage.h"
#include "lib/report/ops_text.h"
#include "lib/report/report_breakdown.h"
#include "lib/report/report_chain.h"
#include "lib/report/report_failures.h"
#include "lib/report/report_oncpu.h"
#include "lib/event/section_rows.h"

#define PROCESSES_SHOWN 16
#define ROWS_SHOWN	40
#define TITLE_MOST	160

/* A part of the page that its text makes; nothing without any. The text is emptied. */
static void print_section(struct buf *out, const char *id, const char *title, struct buf *text)
{
	if (text->n) {
		buf_printf(out, "<section id=\"%s\"><h2>%s</h2>\n", id, title);
		html_blocks(out, buf_bytes(text));
		buf_puts(out, "</section>\n");
	}
	out->failed |= text->failed;
	buf_reset(text);
}

static void print_head(struct buf *out, const struct html_page *p)
{
	const struct ops_summary *s = p->ops;
	struct bytes host = s->hostname ? world_text(p->world, s->hostname) : bytes_of("recording");
	char when[48];

	buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "style-src 'unsafe-inline'\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		      "<title>");
	html_title(out, p, TITLE_MOST);
	buf_puts(out, "</title>\n<style>\n" HTML_STYLE "</style></head>\n<body><header>"
		      "<div class=\"meta\"><b>");
	html_escape(out, host, TITLE_MOST);
	buf_puts(out, "</b>");
	if (s->nodes > 1)
		buf_printf(out, " and %u more node%s", s->nodes - 1, s->nodes == 2 ? "" : "s");
	buf_printf(out, ", %s recorded",
		   fmt_ns((uint64_t)(s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0)).s);
	if (s->has_real) {
		time_iso(when, sizeof(when), s->start_ns + s->real_minus_mono_ns);
		buf_printf(out, " from %.10s %.8s UTC", when, when + 11);
	}
	buf_printf(out, ", %s events, %s lost</div>\n", fmt_count(s->events).s,
		   fmt_count(s->lost).s);
}

static void print_causes(struct buf *out, const struct report *r, struct buf *text)
{
	unsigned shown = 0, selected = 0;

	for (size_t i = 0; i < r->chains->v.n; i++)
		selected += report_selects(r, &r->chains->v.v[i]);
	for (size_t i = 0; i < r->chains->v.n && (r->top == 0 || shown < r->top); i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (!report_selects(r, c))
			continue;
		html_cause(out, r, c, ++shown);
		report_chain_facts(text, r, c, true);
		html_blocks(out, buf_bytes(text));
		out->failed |= text->failed;
		buf_reset(text);
		buf_puts(out, "</section>\n");
	}
	if (selected > shown)
		buf_printf(out, "<p class=\"i\">%u more causes are not shown here.</p>\n",
			   selected - shown);
}

/* Sections of ingero-stat; which: of VIEW_BIT. What the recording has nothing of is put into
 * *missing. */
static void append_sections(struct buf *text, const struct html_page *p, unsigned which,
			    unsigned *missing, bool *few)
{
	const struct report_text_style st = {
		.color = true, .form = PLOT_MARKS, .columns = MARKS_COLUMNS, .top = ROWS_SHOWN
	};

	for (unsigned i = 0; i < VIEW_COUNT; i++)
		if (which & 1u << i &&
		    !ops_section_text(text, p->world, p->ops, (enum view_section)i, &st, few))
			*missing |= 1u << i;
}

#define OPERATIONS                                                                  \
	(VIEW_BIT(RUNTIME) | VIEW_BIT(DRIVER) | VIEW_BIT(GRAPHS) | VIEW_BIT(NCCL) | \
	 VIEW_BIT(MARKS) | VIEW_BIT(HOST) | VIEW_BIT(KERNELS) | VIEW_BIT(LATENCY))
#define MACHINE (VIEW_BIT(SYSTEM) | VIEW_BIT(GPU) | VIEW_BIT(IO) | VIEW_BIT(NET) | VIEW_BIT(RATES))

static void print_coverage(struct buf *out, const struct html_page *p, unsigned missing, bool few,
			   struct buf *text)
{
	bool any = false;

	ops_coverage_lines(text, p->world, p->ops, true, few);
	for (unsigned i = 0; i < VIEW_COUNT; i++) {
		if (!(missing & 1u << i & (OPERATIONS | MACHINE) &
		      ~(VIEW_BIT(MARKS) | VIEW_BIT(KERNELS))))
			continue;
		buf_printf(text, "%s%s", any ? ", " : "not in this recording: ",
			   view_section_name((enum view_section)i));
		any = true;
	}
	buf_puts(text, any ? "\n" : "");
	print_section(out, "coverage", "What the recording covers", text);
}

/* "12 us" */
static bool is_micro(struct bytes t, size_t i)
{
	return i >= 2 && i + 1 < t.n && t.p[i] == 'u' && t.p[i + 1] == 's' && t.p[i - 1] == ' ' &&
	       t.p[i - 2] >= '0' && t.p[i - 2] <= '9' &&
	       (i + 2 == t.n || !(isalnum((unsigned char)t.p[i + 2]) || t.p[i + 2] == '_'));
}

static bool begins_with(struct bytes t, size_t i, const char *with)
{
	size_t n = strlen(with);

	return t.n - i >= n && memcmp(t.p + i, with, n) == 0;
}

/* Texts of all programs have "us", for terminals that lack the letter; a page has it. Not in what
 * is to be typed. */
static void put_micro(struct buf *out, struct bytes page)
{
	bool typed = false;
	size_t from = 0;

	for (size_t i = 0; i < page.n; i++) {
		if (page.p[i] == '<')
			typed = begins_with(page, i, "<pre") ||
				(typed && !begins_with(page, i, "</pre"));
		if (typed || !is_micro(page, i))
			continue;
		buf_add(out, page.p + from, i - from);
		utf8_put(out, 0xb5);
		from = i + 1;
	}
	buf_add(out, page.p + from, page.n - from);
}

static void write_page(struct buf *out, const struct html_page *p)
{
	struct report marked = *p->report;
	const struct report *r = &marked;
	struct buf text = { 0 };
	unsigned missing = 0;
	bool few = false;

	marked.columns = MARKS_COLUMNS;
	print_head(out, p);
	html_verdict(out, p);
	buf_puts(out, "</header><main>\n");
	html_steps(out, r);
	html_course(out, p);
	print_causes(out, r, &text);
	report_oncpu_text(&text, r, true);
	print_section(out, "cpu", "On the CPU", &text);
	report_breakdowns(&text, r, PROCESSES_SHOWN, true);
	print_section(out, "where", "Where the time went", &text);
	report_failures_text(&text, r, true);
	print_section(out, "errors", "Calls that failed", &text);
	append_sections(&text, p, OPERATIONS, &missing, &few);
	print_section(out, "operations", "Operations", &text);
	append_sections(&text, p, MACHINE, &missing, &few);
	print_section(out, "machine", "The machine", &text);
	append_sections(&text, p, VIEW_BIT(MEMORY), &missing, &few);
	print_section(out, "memory", "Memory", &text);
	print_coverage(out, p, missing, few, &text);
	buf_puts(out, "</main><footer>Written by ");
	html_escape(out, bytes_of(p->tool), TITLE_MOST);
	buf_puts(
		out,
		". The page is whole: it loads nothing and runs nothing.</footer></body></html>\n");
	buf_free(&text);
}

void html_page(struct buf *out, const struct html_page *p)
{
	struct buf page = { 0 };

	write_page(&page, p);
	put_micro(out, buf_bytes(&page));
	out->failed |= page.failed;
	buf_free(&page);
}
