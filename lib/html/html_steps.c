/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section of a program's steps: a row for each line of the loop with its share as a bar, and
 * below it the causes of its time. Lengths are of one step, as in the text report
 * (lib/report/report_path.c).
 */
#include "lib/html/html_internal.h"

#include "lib/base/fmt.h"
#include "lib/html/html_text.h"
#include "lib/report/path_lines.h"
#include "lib/report/report_parts.h"

#define ROWS_SHOWN  16
#define START_PARTS 3
#define START_SHARE 0.05 /* of the start or the end */
#define TEXT_MOST   400
/* As of causes (lib/tracks/causes.c), but of the step and not of the row. */
#define LOSS_HIGH   0.10
#define LOSS_MEDIUM 0.02

static void put_text(struct buf *out, struct bytes text, const char *otherwise)
{
	html_escape(out, text.n ? text : bytes_of(otherwise), TEXT_MOST);
}

static void put_printed(struct buf *out, const struct step_track *t,
			void (*print)(struct buf *out, const struct step_track *t))
{
	struct buf text = { 0 };

	print(&text, t);
	html_escape(out, buf_bytes(&text), TEXT_MOST);
	out->failed |= text.failed;
	buf_free(&text);
}

void html_steps_facts(struct buf *out, const struct step_track *t)
{
	const struct paths_steps *s = &t->track->steps;
	char text[48];

	buf_printf(out, "<dl class=\"key\"><div><dt>%s</dt><dd>%s",
		   paths_steps_have_mean(s) ? "A step" : "All steps",
		   report_ns(text, sizeof(text), step_track_per_step(t, t->ns)));
	if (s->p50_ns && paths_steps_have_mean(s)) {
		buf_printf(out, " <small>median %s",
			   report_ns(text, sizeof(text), (double)s->p50_ns));
		buf_printf(out, ", p99 %s</small>",
			   report_ns(text, sizeof(text), (double)s->p99_ns));
	}
	buf_puts(out, "</dd></div><div><dt>Steps</dt><dd>");
	put_printed(out, t, step_track_print_count);
	buf_printf(out, " <small>in %s</small></dd></div><div><dt>Loop</dt><dd>",
		   report_ns(text, sizeof(text), t->ns));
	put_printed(out, t, step_track_print_loop);
	buf_puts(out, "</dd></div></dl>\n");
}

/* ---- the section ---- */

/* "45.3 %", a bar, "4.69 ms", and what it is of follows. */
static void put_share(struct buf *out, const struct step_track *t, double ns, enum fmt_style style)
{
	char text[48];

	buf_printf(out, "<div class=\"st\"><span class=\"n\">%.1f %%</span>", ns / t->ns * 100);
	html_bar(out, ns / t->ns, style);
	buf_printf(out, "<span class=\"n\">%s</span><span>",
		   report_ns(text, sizeof(text), step_track_per_step(t, ns)));
}

/* By the largest loss in it, as a share of a step. */
static enum fmt_style style_of(const struct step_track *t, const struct paths_row *row)
{
	double most = 0;

	for (size_t i = 0; i < row->why.n; i++)
		if (row->why.v[i].severity && (double)row->why.v[i].ns > most)
			most = (double)row->why.v[i].ns;
	return most >= LOSS_HIGH * t->ns     ? FMT_RED
	       : most >= LOSS_MEDIUM * t->ns ? FMT_YELLOW
					     : FMT_BLUE;
}

static void put_row(struct buf *out, const struct step_track *t, const struct paths_row *row)
{
	char text[48];

	put_share(out, t, (double)row->ns, style_of(t, row));
	buf_puts(out, "<b>");
	put_text(out, row->line, "elsewhere");
	buf_puts(out, "</b>");
	if (row->site.n) {
		buf_puts(out, " &gt; ");
		put_text(out, row->site, "");
	}
	for (size_t i = 0; i < row->why.n && i < STEP_WHY; i++) {
		double part = (double)row->why.v[i].ns;

		if (part < STEP_WHY_LEAST * t->ns)
			continue;
		buf_printf(out, "<p class=\"i\"><b>%s</b> ",
			   report_ns(text, sizeof(text), step_track_per_step(t, part)));
		put_text(out, row->why.v[i].text, "?");
		if (row->why.v[i].course.n)
			buf_puts(out, ", ");
		put_text(out, row->why.v[i].course, "");
		buf_puts(out, "</p>");
	}
	buf_puts(out, "</span></div>\n");
}

static void put_rows(struct buf *out, const struct step_track *t)
{
	size_t n = t->phase->rows.n;
	double rest = 0;

	for (size_t i = 0; i < n; i++) {
		if (i < ROWS_SHOWN)
			put_row(out, t, &t->phase->rows.v[i]);
		else
			rest += (double)t->phase->rows.v[i].ns;
	}
	if (rest > 0) {
		put_share(out, t, rest, FMT_BLUE);
		buf_printf(out, "%zu more lines</span></div>\n", n - ROWS_SHOWN);
	}
}

/* Single stretches of a phase that are slow by themselves. */
static void put_once(struct buf *out, const struct paths_phase *phase)
{
	const struct paths_cause *best[ONCE_SHOWN];
	unsigned n = once_lines_find(phase, best);

	for (unsigned i = 0; i < n; i++) {
		struct buf text = { 0 };

		once_lines_print(&text, best[i]);
		buf_puts(out, "<p class=\"i\">");
		put_text(out, buf_bytes(&text), "");
		buf_puts(out, "</p>\n");
		out->failed |= text.failed;
		buf_free(&text);
	}
}

static void put_notes(struct buf *out, const struct paths_phase *phase)
{
	for (size_t i = 0; i < phase->notes.n; i++) {
		const struct paths_note *note = &phase->notes.v[i];

		buf_puts(out, "<p class=\"i\">");
		put_text(out, note->text, "");
		buf_puts(out, "</p>\n");
		if (!note->command.n)
			continue;
		buf_puts(out, "<pre class=\"sh\"><code>");
		put_text(out, note->command, "");
		buf_puts(out, "</code></pre>\n");
	}
}

/* "Start 15.1 s: <module> (train.py:13) 3.1 s, ..." */
static void put_phase(struct buf *out, const struct step_track *t, const char *name,
		      const char *title)
{
	const struct paths_phase *phase = paths_find_phase(t->track, name);
	unsigned shown = 0;
	char text[48];

	if (!phase || !phase->ns)
		return;
	buf_printf(out, "<p class=\"i\"><b>%s</b> %s", title,
		   report_ns(text, sizeof(text), (double)phase->ns));
	for (size_t i = 0; i < phase->rows.n && shown < START_PARTS; i++) {
		const struct paths_row *row = &phase->rows.v[i];

		if (row->line.n && (double)row->ns >= START_SHARE * (double)phase->ns) {
			buf_puts(out, shown++ ? ", " : ": ");
			put_text(out, row->line, "");
			buf_printf(out, " %s", report_ns(text, sizeof(text), (double)row->ns));
		}
	}
	buf_puts(out, "</p>\n");
	put_once(out, phase);
	put_notes(out, phase);
}

static void put_section(struct buf *out, const struct step_track *t, unsigned at)
{
	buf_printf(out, "<section id=\"step-%u\"><h2>%s of ", at,
		   paths_steps_have_mean(&t->track->steps) ? "A step" : "Steps");
	put_text(out, t->track->thread, "?");
	buf_puts(out, "</h2>\n<p class=\"i\">");
	put_printed(out, t, step_track_print_count);
	buf_puts(out, " of ");
	put_printed(out, t, step_track_print_loop);
	for (size_t i = 0; i < t->phase->lead.n; i++) {
		buf_puts(out, i ? " &gt; " : ", by line, in ");
		put_text(out, t->phase->lead.v[i], "?");
	}
	buf_puts(out, "</p>\n");
	put_rows(out, t);
	put_once(out, t->phase);
	put_notes(out, t->phase);
	put_phase(out, t, "start", "Before the first step");
	put_phase(out, t, "between", "Between steps");
	put_phase(out, t, "end", "After the last");
	buf_puts(out, "</section>\n");
}

void html_steps(struct buf *out, const struct report *r)
{
	struct step_track shown[STEP_PROGRAMS];
	unsigned more, n = step_track_shown(r, shown, &more);

	for (unsigned i = 0; i < n; i++)
		put_section(out, &shown[i], i + 1);
}

void html_steps_outside(struct buf *out, const struct report *r, const struct finding *c)
{
	if (step_track_is_outside(r, c))
		buf_puts(out,
			 " <span class=\"out\">before the first step or after the last</span>");
}
