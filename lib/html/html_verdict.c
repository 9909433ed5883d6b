/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the verdict at the top of the HTML page. All values come from the finding; none is
 * computed here. */
#include "lib/html/html_internal.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/html/html_text.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_verdict.h"
#include "lib/report/report_recording.h"
#include "lib/report/stepless.h"

#define TEXT_MOST 400

static unsigned severity_level(const struct finding *c)
{
	return c->severity >= FINDING_HIGH ? 3 : c->severity == FINDING_MEDIUM ? 2 : 1;
}

/* The worst that is to be shown; NULL: none. *n: how many there are. */
static const struct finding *find_worst(const struct report *r, unsigned *n)
{
	const struct finding *first = NULL;

	*n = 0;
	for (size_t i = 0; i < r->chains->v.n; i++) {
		if (!report_selects(r, &r->chains->v.v[i]))
			continue;
		first = first ? first : &r->chains->v.v[i];
		(*n)++;
	}
	return first;
}

static bool has_hidden(const struct report *r)
{
	for (size_t i = 0; i < r->chains->v.n; i++)
		if (r->chains->v.v[i].hidden)
			return true;
	return false;
}

/* The program without steps whose time comes first; NULL: there is none. */
static const struct paths_track *find_stepless(const struct report *r)
{
	return has_hidden(r) ? NULL : stepless_find(r);
}

void html_title(struct buf *out, const struct html_page *p, size_t most)
{
	unsigned n;
	const struct finding *c = find_worst(p->report, &n);
	const struct paths_track *stepless = find_stepless(p->report);
	struct buf text = { 0 };
	struct step_track t;

	if (step_track_main(p->report, &t)) {
		step_track_print_verdict(&text, &t);
		html_escape(out, buf_bytes(&text), most);
	} else if (stepless) {
		stepless_print(&text, p->report, stepless);
		html_escape(out, buf_bytes(&text), most);
	} else {
		html_escape(out, c ? c->summary : bytes_of("ingero: no cause found"), most);
	}
	out->failed |= text.failed;
	buf_free(&text);
}

static void put_text(struct buf *out, struct bytes text, const char *otherwise)
{
	html_escape(out, text.n ? text : bytes_of(otherwise), TEXT_MOST);
}

static void print_count(struct buf *out, const struct finding *c)
{
	struct buf text = { 0 };

	fmt_counted(&text, c->count, finding_counted(c));
	buf_puts(out, report_about(c));
	html_escape(out, buf_bytes(&text), TEXT_MOST);
	out->failed |= text.failed;
	buf_free(&text);
}

static void print_lost(struct buf *out, const struct finding *c)
{
	char ns[48];

	buf_puts(out, "<div><dt>");
	if (c->lost_ns == 0) {
		buf_puts(out, "Count</dt><dd>");
		print_count(out, c);
	} else {
		buf_printf(out, "Lost</dt><dd>%s%s <small>%s of wall time, ", report_about(c),
			   report_ns(ns, sizeof(ns), (double)c->lost_ns), fmt_percent(c->share).s);
		print_count(out, c);
		buf_puts(out, "</small>");
	}
	buf_puts(out, "</dd></div>");
}

static void print_facts(struct buf *out, const struct finding *c)
{
	buf_puts(out, "<dl class=\"key\">");
	print_lost(out, c);
	buf_puts(out, "<div><dt>Culprit</dt><dd>");
	put_text(out, c->culprit.text, "nobody to name");
	buf_puts(out, "</dd></div><div><dt>Where</dt><dd>");
	if (c->sites.n) {
		put_text(out, c->sites.v[0].text, "(no stack)");
		buf_puts(out, " <small>");
		put_text(out, c->sites.v[0].op, "");
		buf_puts(out, "</small>");
	} else {
		put_text(out, c->victim.comm, "the machine");
	}
	buf_puts(out, "</dd></div></dl>\n");
}

static void print_fix(struct buf *out, const struct finding *c)
{
	const struct finding_fix *first = c->fixes.n ? &c->fixes.v[0] : NULL;

	if (!first)
		return;
	buf_puts(out, "<p><b>Fix:</b> ");
	put_text(out, first->action, "");
	buf_puts(out, "</p>\n");
	if (first->command.n) {
		buf_puts(out,
			 finding_fix_is_code(first) ? "<pre><code>" : "<pre class=\"sh\"><code>");
		html_escape(out, first->command, 0);
		buf_puts(out, "</code></pre>\n");
	}
}

/* One line per cause: severity, kind, culprit, lost time. Bars are relative to the largest. */
static void print_blame(struct buf *out, const struct report *r)
{
	double most = 0;
	unsigned at = 0;
	char ns[48];

	for (size_t i = 0; i < r->chains->v.n; i++)
		if (report_selects(r, &r->chains->v.v[i]) &&
		    (double)r->chains->v.v[i].lost_ns > most)
			most = (double)r->chains->v.v[i].lost_ns;
	buf_puts(out, "<h3>Who took it</h3>\n");
	for (size_t i = 0; i < r->chains->v.n && at < HTML_LANES; i++) {
		const struct finding *c = &r->chains->v.v[i];

		if (!report_selects(r, c))
			continue;
		buf_printf(out,
			   "<div class=\"blame\"><span class=\"badge v%u\">%s</span><span><a "
			   "href=\"#cause-%u\">",
			   severity_level(c), finding_severity_name(c->severity), at + 1);
		at++;
		html_escape(out, c->kind, TEXT_MOST);
		buf_puts(out, "</a> ");
		put_text(out, c->culprit.text, "");
		html_steps_outside(out, r, c);
		buf_puts(out, "</span>");
		html_bar(out, most > 0 ? (double)c->lost_ns / most : 0,
			 severity_level(c) == 3	  ? FMT_RED
			 : severity_level(c) == 2 ? FMT_YELLOW
						  : FMT_BLUE);
		buf_printf(out, "<span class=\"n\">%s%s</span></div>\n",
			   c->lost_ns ? report_about(c) : "",
			   c->lost_ns ? report_ns(ns, sizeof(ns), (double)c->lost_ns) : "");
	}
}

/* Says why figures are lower bounds, above the first figure. */
static void print_warnings(struct buf *out, const struct html_page *p)
{
	const struct report *r = p->report;

	if (r->partial) {
		buf_puts(out, "<div class=\"warn\"><b>Incomplete:</b> ");
		html_escape(out,
			    r->partial_text.n ? r->partial_text
					      : bytes_of("the input could not be read to its end"),
			    TEXT_MOST);
		buf_puts(out, "; the page covers what could be read.</div>\n");
	}
	if (p->ops->lost || r->lost)
		buf_printf(out,
			   "<div class=\"warn\"><b>%s events were lost:</b> every figure is a "
			   "lower bound "
			   "(<a href=\"#coverage\">what is covered</a>).</div>\n",
			   fmt_count(p->ops->lost > r->lost ? p->ops->lost : r->lost).s);
	if (r->growing)
		buf_puts(out,
			 "<div class=\"warn\">The recording was still being written: the page says "
			 "what there was.</div>\n");
}

/* The first line is the verdict; green only if the recording was analyzed and nothing was found. */
static void print_no_findings(struct buf *out, struct bytes text, bool healthy)
{
	const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
	size_t n = end ? (size_t)(end - text.p) : text.n;

	buf_printf(out, "<div class=\"verdict%s\"><h1>", healthy ? " v0" : "");
	html_escape(out, (struct bytes){ text.p, n }, 0);
	buf_puts(out, "</h1>\n");
	html_blocks(out, (struct bytes){ text.p + n, text.n - n });
	buf_puts(out, "</div>\n");
}

static const char *steps_class(const struct report *r, unsigned level, unsigned causes)
{
	static const char *const classes[] = { "", " v1", " v2", " v3" };

	return !level && !causes && report_healthy(r) ? " v0" : classes[level > 3 ? 3 : level];
}

/* Where all of a program's time went; t NULL: nothing. */
static void put_stepless(struct buf *out, const struct report *r, const struct paths_track *t)
{
	struct buf text = { 0 };

	if (!t)
		return;
	stepless_print(&text, r, t);
	buf_puts(out, "<p>");
	html_escape(out, buf_bytes(&text), 0);
	buf_puts(out, "</p>\n");
	out->failed |= text.failed;
	buf_free(&text);
}

/* Of a program with steps it is about one of them; causes follow as a list. */
static void verdict_steps(struct buf *out, const struct html_page *p, const struct step_track *t,
			  unsigned causes)
{
	struct buf text = { 0 };

	step_track_print_verdict(&text, t);
	buf_printf(out, "<div class=\"verdict%s\"><h1>",
		   steps_class(p->report, step_track_severity(t), causes));
	html_escape(out, buf_bytes(&text), 0);
	buf_puts(out, "</h1>\n");
	if (!causes && has_hidden(p->report)) {
		buf_reset(&text);
		report_verdict_none(&text, p->report);
		html_blocks(out, buf_bytes(&text));
	}
	html_steps_facts(out, t);
	if (causes)
		print_blame(out, p->report);
	buf_puts(out, "</div>\n");
	out->failed |= text.failed;
	buf_free(&text);
}

void html_verdict(struct buf *out, const struct html_page *p)
{
	unsigned n;
	const struct finding *c = find_worst(p->report, &n);
	struct buf text = { 0 };
	struct step_track t;

	if (step_track_main(p->report, &t)) {
		verdict_steps(out, p, &t, n);
	} else if (c) {
		put_stepless(out, p->report, find_stepless(p->report));
		buf_printf(out, "<div class=\"verdict v%u\"><span class=\"badge v%u\">%s</span> ",
			   severity_level(c), severity_level(c),
			   finding_severity_name(c->severity));
		buf_puts(out, "<h1>");
		html_escape(out, c->summary, 0);
		buf_puts(out, "</h1>\n");
		print_facts(out, c);
		print_fix(out, c);
		if (n > 1)
			print_blame(out, p->report);
		buf_puts(out, "</div>\n");
	} else {
		put_stepless(out, p->report, find_stepless(p->report));
		report_verdict_none(&text, p->report);
		print_no_findings(out, buf_bytes(&text), report_healthy(p->report));
		out->failed |= text.failed;
	}
	print_warnings(out, p);
	buf_free(&text);
}

void html_cause(struct buf *out, const struct report *r, const struct finding *c, unsigned at)
{
	buf_printf(out, "<section id=\"cause-%u\"><h2><span class=\"badge v%u\">%s</span> ", at,
		   severity_level(c), finding_severity_name(c->severity));
	html_escape(out, c->kind, TEXT_MOST);
	html_steps_outside(out, r, c);
	buf_puts(out, "</h2>\n<p>");
	html_escape(out, c->summary, 0);
	buf_puts(out, "</p>\n");
}
