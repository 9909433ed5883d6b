/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of steps for a terminal: per line of the loop its share, its time in a step, and why;
 * then a line each for what is before, between and after the steps.
 */
#include "lib/report/report_internal.h"

#include "lib/base/fmt.h"
#include "lib/report/path_lines.h"
#include "lib/report/report_parts.h"
#include "lib/report/step_track.h"

#define LONGEST_TIMES 2 /* times the 99th of a hundred: a stall, which that hides */
#define ROWS_SHOWN    8
#define START_PARTS   3
#define START_SHARE   0.05 /* of the start or the end */

static void put_row(struct buf *out, const struct step_track *t, const struct paths_row *row)
{
	double ns = (double)row->ns;
	char text[48];

	buf_printf(out, "    %5.1f%%  %9s  ", ns / t->ns * 100,
		   report_ns(text, sizeof(text), step_track_per_step(t, ns)));
	report_print_text(out, row->line, "elsewhere");
	if (row->site.n) {
		buf_puts(out, " > ");
		fmt_safe(out, row->site);
	}
	buf_putc(out, '\n');
	for (size_t i = 0; i < row->why.n && i < STEP_WHY; i++) {
		double part = (double)row->why.v[i].ns;

		if (part < STEP_WHY_LEAST * t->ns)
			continue;
		buf_printf(out, "            %9s    ",
			   report_ns(text, sizeof(text), step_track_per_step(t, part)));
		report_print_text(out, row->why.v[i].text, "?");
		report_print_course(out, row->why.v[i].course);
		buf_putc(out, '\n');
	}
}

/* Rows of one track. */
static void put_rows(struct buf *out, const struct step_track *t)
{
	size_t n = t->phase->rows.n;
	double rest = 0;
	char text[48];

	for (size_t i = 0; i < n; i++) {
		if (i < ROWS_SHOWN)
			put_row(out, t, &t->phase->rows.v[i]);
		else
			rest += (double)t->phase->rows.v[i].ns;
	}
	if (rest > 0)
		buf_printf(out, "    %5.1f%%  %9s  %zu more lines\n", rest / t->ns * 100,
			   report_ns(text, sizeof(text), step_track_per_step(t, rest)),
			   n - ROWS_SHOWN);
}

/* "start 15.1 s: <module> (train.py:13) 3.1 s, ..." */
static void put_phase(struct buf *out, const struct step_track *t, const char *name)
{
	const struct paths_phase *phase = paths_find_phase(t->track, name);
	unsigned shown = 0;
	char text[48];

	if (!phase || !phase->ns)
		return;
	buf_printf(out, "    %s %s", name, report_ns(text, sizeof(text), (double)phase->ns));
	for (size_t i = 0; i < phase->rows.n && shown < START_PARTS; i++) {
		const struct paths_row *row = &phase->rows.v[i];

		if (row->line.n && (double)row->ns >= START_SHARE * (double)phase->ns) {
			buf_puts(out, shown++ ? ", " : ": ");
			fmt_safe(out, row->line);
			buf_printf(out, " %s", report_ns(text, sizeof(text), (double)row->ns));
		}
	}
	buf_putc(out, '\n');
	once_lines_put(out, phase);
	note_lines_put(out, phase);
}

static void put_track(struct buf *out, const struct report *r, const struct step_track *t,
		      bool color)
{
	const struct paths_steps *s = &t->track->steps;
	char text[48];

	report_style(out, color, "1");
	buf_puts(out, paths_steps_have_mean(s) ? "\nA step of " : "\nSteps of ");
	report_print_text(out, t->track->thread, "?");
	report_on_node(out, r, t->track->node);
	report_style(out, color, "0");
	buf_puts(out, ": ");
	step_track_print_count(out, t);
	buf_puts(out, " of ");
	step_track_print_loop(out, t);
	buf_printf(out, " in %s", report_ns(text, sizeof(text), t->ns));
	if (s->p50_ns && paths_steps_have_mean(s)) {
		buf_printf(out, ", median %s", report_ns(text, sizeof(text), (double)s->p50_ns));
		buf_printf(out, ", p99 %s", report_ns(text, sizeof(text), (double)s->p99_ns));
		if (s->max_ns > LONGEST_TIMES * s->p99_ns)
			buf_printf(out, ", longest %s",
				   report_ns(text, sizeof(text), (double)s->max_ns));
		step_track_print_every(out, t);
	}
	buf_putc(out, '\n');
	for (size_t i = 0; i < t->phase->lead.n; i++) {
		buf_puts(out, i ? " > " : "    by line, in ");
		fmt_safe(out, t->phase->lead.v[i]);
	}
	if (t->phase->lead.n)
		buf_putc(out, '\n');
	put_rows(out, t);
	once_lines_put(out, t->phase);
	note_lines_put(out, t->phase);
	put_phase(out, t, "start");
	put_phase(out, t, "between");
	put_phase(out, t, "end");
}

void report_path_text(struct buf *out, const struct report *r, bool color)
{
	struct step_track shown[STEP_PROGRAMS];
	unsigned more, n = step_track_shown(r, shown, &more);

	for (unsigned i = 0; i < n; i++)
		put_track(out, r, &shown[i], color);
	if (more)
		buf_printf(out, "\n%u more thread%s steps, too%s\n", more,
			   more == 1 ? " has" : "s have", report_hint(r, " (--json has them)"));
	path_lines_stepless(out, r, color);
}
