/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step is the unit: what a cause took in all steps is divided by how many there were.
 */
#include "lib/emit/report_path.h"

#include "lib/base/human.h"
#include "lib/emit/report_parts.h"

#define PROGRAMS_SHOWN 3
#define ROWS_SHOWN     8
#define VERDICT_PARTS  3
#define VERDICT_SHARE  0.1
#define WHY_SHOWN      3
#define WHY_SHARE      0.01 /* of a step */
#define STEPS_LEAST    8
#define START_PARTS    3
#define OUTSIDE_SHARE  0.1  /* of a finding's time: no more of it within the steps */
#define START_SHARE    0.05 /* of the start or the end */

/* A track with steps. Freed by step_track_free. */
struct step_track {
	struct json track, steps, phase; /* phase: of the steps */
	double count, ns;		 /* steps, and all their time */
	bool least;			 /* there were at least so many */
};

static void step_track_free(struct step_track *t)
{
	json_free(t->track);
	json_free(t->steps);
	json_free(t->phase);
}

static bool is_phase(struct json phase, const char *name)
{
	struct json v = json_get(phase, "name");
	bool is = bytes_equal(json_bytes(v), bytes_of(name));

	json_free(v);
	return is;
}

/* The phase of that name; absent: there is none. */
static struct json phase_of(struct json track, const char *name)
{
	struct json phases = json_get(track, "phases"), found = { 0 };

	for (size_t i = 0; i < json_length(phases) && !found.is; i++) {
		struct json p = json_at(phases, i);

		if (is_phase(p, name))
			found = p;
		else
			json_free(p);
	}
	json_free(phases);
	return found;
}

/* The i-th track, if it is to be shown and has steps. */
static bool step_track_get(const struct report *r, struct json paths, size_t i,
			   struct step_track *t)
{
	struct json least;

	*t = (struct step_track){ .track = json_at(paths, i) };
	t->steps = json_get(t->track, "steps");
	t->phase = phase_of(t->track, "steps");
	t->count = json_type(t->steps) == JSON_TYPE_OBJECT ? report_number(t->steps, "count") : 0;
	t->ns = t->phase.is ? report_number(t->phase, "ns") : 0;
	least = json_get(t->steps, "at_least");
	t->least = json_is_true(least);
	json_free(least);
	if (report_shows(r, t->track) && t->count >= STEPS_LEAST && t->ns > 0)
		return true;
	step_track_free(t);
	return false;
}

/* Whether another track of the same process stands for it: the one before. */
static bool is_second(struct json paths, size_t i, const struct step_track *t)
{
	bool second = false;

	for (size_t k = 0; k < i && !second; k++) {
		struct json other = json_at(paths, k), steps = json_get(other, "steps");

		second = json_type(steps) == JSON_TYPE_OBJECT &&
			 report_number(other, "pid") == report_number(t->track, "pid");
		json_free(steps);
		json_free(other);
	}
	return second;
}

static void put_loop(struct buf *out, const struct step_track *t)
{
	struct json file = json_get(t->steps, "file");
	struct bytes path = json_bytes(file);
	double first = report_number(t->steps, "first_line"),
	       last = report_number(t->steps, "last_line");

	for (size_t i = path.n; i > 0; i--)
		if (path.p[i - 1] == '/') {
			path = (struct bytes){ path.p + i, path.n - i };
			break;
		}
	report_member(out, t->steps, "function", "?");
	buf_puts(out, " (");
	human_safe(out, path);
	buf_printf(out, ":%.0f", first);
	if (last > first)
		buf_printf(out, "-%.0f", last);
	buf_putc(out, ')');
	json_free(file);
}

static void put_count(struct buf *out, const struct step_track *t)
{
	struct json estimated = json_get(t->steps, "estimated");

	buf_puts(out, t->least ? ">=" : json_is_true(estimated) ? "~" : "");
	buf_puts(out, human_count((uint64_t)t->count).s);
	json_free(estimated);
}

/* Of a step where their number is known, else of all of them. */
static double per_step(const struct step_track *t, double ns)
{
	return t->least ? ns : ns / t->count;
}

/* "31.1 ms (55.0%)" of a step. */
static void put_per_step(struct buf *out, const struct step_track *t, double ns)
{
	char text[48];

	buf_printf(out, "%s (%.1f%%)", report_ns(text, sizeof(text), per_step(t, ns)),
		   ns / t->ns * 100);
}

/* What a verdict names: the largest parts of a step. */
struct step_part {
	double ns;
	struct json text;
};

static void keep_part(struct step_part best[VERDICT_PARTS], double ns, struct json text)
{
	unsigned at = VERDICT_PARTS;

	while (at > 0 && ns > best[at - 1].ns)
		at--;
	if (at == VERDICT_PARTS) {
		json_free(text);
		return;
	}
	json_free(best[VERDICT_PARTS - 1].text);
	for (unsigned k = VERDICT_PARTS - 1; k > at; k--)
		best[k] = best[k - 1];
	best[at] = (struct step_part){ ns, text };
}

/* Losses, wherever in a step they happen. */
static void keep_losses(const struct step_track *t, struct step_part best[VERDICT_PARTS])
{
	struct json causes = json_get(t->phase, "causes");

	for (size_t i = 0; i < json_length(causes); i++) {
		struct json c = json_at(causes, i);

		if (report_number(c, "severity") > 0)
			keep_part(best, report_number(c, "ns"), json_get(c, "text"));
		json_free(c);
	}
	json_free(causes);
}

/* Work, by the line of the loop that does it. */
static void keep_work(const struct step_track *t, struct step_part best[VERDICT_PARTS])
{
	struct json rows = json_get(t->phase, "rows");

	for (size_t i = 0; i < json_length(rows); i++) {
		struct json row = json_at(rows, i), why = json_get(row, "why");

		for (size_t k = 0; k < json_length(why); k++) {
			struct json c = json_at(why, k);

			if (report_number(c, "severity") == 0)
				keep_part(best, report_number(c, "ns"), json_get(c, "text"));
			json_free(c);
		}
		json_free(why);
		json_free(row);
	}
	json_free(rows);
}

static void put_verdict(struct buf *out, const struct step_track *t)
{
	struct step_part best[VERDICT_PARTS] = { 0 };
	char text[48];
	unsigned n = 0;

	keep_losses(t, best);
	keep_work(t, best);
	report_member(out, t->track, "thread", "?");
	buf_puts(out, ": ");
	put_count(out, t);
	buf_puts(out, " steps of ");
	put_loop(out, t);
	buf_printf(out, ", %s %s", report_ns(text, sizeof(text), per_step(t, t->ns)),
		   t->least ? "in all" : "each");
	for (unsigned i = 0; i < VERDICT_PARTS; i++) {
		if (best[i].text.is && best[i].ns >= VERDICT_SHARE * t->ns) {
			buf_puts(out, n++ ? "; " : ": ");
			put_per_step(out, t, best[i].ns);
			buf_putc(out, ' ');
			human_safe(out, json_bytes(best[i].text));
		}
		json_free(best[i].text);
	}
}

/* Calls of the track's process. */
static double calls_of(const struct report *r, const struct step_track *t)
{
	struct json all = json_get(r->chains->analysis, "processes");
	double calls = 0;

	for (size_t i = 0; i < json_length(all); i++) {
		struct json p = json_at(all, i);

		if (report_number(p, "pid") == report_number(t->track, "pid"))
			calls = report_number(p, "calls");
		json_free(p);
	}
	json_free(all);
	return calls;
}

/* The program whose steps the report is about: the one with most calls. What works for it, as a
 * loader does, is on its path. */
static bool find_main(const struct report *r, struct json paths, struct step_track *best)
{
	struct step_track t;
	double most = -1;

	for (size_t i = 0; i < json_length(paths); i++) {
		double calls;

		if (!step_track_get(r, paths, i, &t))
			continue;
		calls = calls_of(r, &t);
		if (is_second(paths, i, &t) || calls <= most) {
			step_track_free(&t);
			continue;
		}
		if (most >= 0)
			step_track_free(best);
		*best = t;
		most = calls;
	}
	return most >= 0;
}

bool report_path_has_steps(const struct report *r)
{
	struct json paths = json_get(r->chains->analysis, "paths");
	struct step_track t;
	bool any = find_main(r, paths, &t);

	if (any)
		step_track_free(&t);
	json_free(paths);
	return any;
}

void report_path_verdict(struct buf *out, const struct report *r)
{
	struct json paths = json_get(r->chains->analysis, "paths");
	struct step_track t;

	if (find_main(r, paths, &t)) {
		put_verdict(out, &t);
		step_track_free(&t);
	}
	json_free(paths);
}

/* ---- the table ---- */

static void put_row(struct buf *out, const struct step_track *t, struct json row)
{
	struct json why = json_get(row, "why"), site = json_get(row, "site");
	double ns = report_number(row, "ns");
	char text[48];

	buf_printf(out, "    %5.1f%%  %9s  ", ns / t->ns * 100,
		   report_ns(text, sizeof(text), per_step(t, ns)));
	report_member(out, row, "line", "elsewhere");
	if (json_bytes(site).n) {
		buf_puts(out, " > ");
		human_safe(out, json_bytes(site));
	}
	buf_putc(out, '\n');
	json_free(site);
	for (size_t i = 0; i < json_length(why) && i < WHY_SHOWN; i++) {
		struct json c = json_at(why, i);
		double part = report_number(c, "ns");

		if (part >= WHY_SHARE * t->ns) {
			buf_printf(out, "            %9s    ",
				   report_ns(text, sizeof(text), per_step(t, part)));
			report_member(out, c, "text", "?");
			buf_putc(out, '\n');
		}
		json_free(c);
	}
	json_free(why);
}

/* Rows of one track. */
static void put_rows(struct buf *out, const struct step_track *t)
{
	struct json rows = json_get(t->phase, "rows");
	size_t n = json_length(rows);
	double rest = 0;
	char text[48];

	for (size_t i = 0; i < n; i++) {
		struct json row = json_at(rows, i);

		if (i < ROWS_SHOWN)
			put_row(out, t, row);
		else
			rest += report_number(row, "ns");
		json_free(row);
	}
	if (rest > 0)
		buf_printf(out, "    %5.1f%%  %9s  %zu more lines\n", rest / t->ns * 100,
			   report_ns(text, sizeof(text), per_step(t, rest)), n - ROWS_SHOWN);
	json_free(rows);
}

/* "start 15.1 s: <module> (train.py:13) 3.1 s, ..." */
static void put_phase(struct buf *out, const struct step_track *t, const char *name)
{
	struct json phase = phase_of(t->track, name), rows = json_get(phase, "rows");
	double ns = phase.is ? report_number(phase, "ns") : 0;
	unsigned shown = 0;
	char text[48];

	if (ns > 0) {
		buf_printf(out, "    %s %s", name, report_ns(text, sizeof(text), ns));
		for (size_t i = 0; i < json_length(rows) && shown < START_PARTS; i++) {
			struct json row = json_at(rows, i), line = json_get(row, "line");
			double part = report_number(row, "ns");

			if (json_bytes(line).n && part >= START_SHARE * ns) {
				buf_puts(out, shown++ ? ", " : ": ");
				human_safe(out, json_bytes(line));
				buf_printf(out, " %s", report_ns(text, sizeof(text), part));
			}
			json_free(line);
			json_free(row);
		}
		buf_putc(out, '\n');
	}
	json_free(rows);
	json_free(phase);
}

static void put_track(struct buf *out, const struct step_track *t, bool color)
{
	struct json lead = json_get(t->phase, "lead");
	double p50 = report_number(t->steps, "p50_ns");
	char text[48];

	report_style(out, color, "1");
	buf_puts(out, "\nA step of ");
	report_member(out, t->track, "thread", "?");
	report_style(out, color, "0");
	buf_puts(out, ": ");
	put_count(out, t);
	buf_puts(out, " of ");
	put_loop(out, t);
	buf_printf(out, " in %s", report_ns(text, sizeof(text), t->ns));
	if (p50 > 0 && !t->least) {
		buf_printf(out, ", median %s", report_ns(text, sizeof(text), p50));
		buf_printf(out, ", p99 %s",
			   report_ns(text, sizeof(text), report_number(t->steps, "p99_ns")));
	}
	buf_putc(out, '\n');
	for (size_t i = 0; i < json_length(lead); i++) {
		struct json line = json_at(lead, i);

		buf_puts(out, i ? " > " : "    by line, in ");
		human_safe(out, json_bytes(line));
		json_free(line);
	}
	if (json_length(lead))
		buf_putc(out, '\n');
	put_rows(out, t);
	put_phase(out, t, "start");
	put_phase(out, t, "between");
	put_phase(out, t, "end");
	json_free(lead);
}

void report_path_text(struct buf *out, const struct report *r, bool color)
{
	struct json paths = json_get(r->chains->analysis, "paths");
	unsigned shown = 0;

	for (size_t i = 0; i < json_length(paths) && shown < PROGRAMS_SHOWN; i++) {
		struct step_track t;

		if (!step_track_get(r, paths, i, &t))
			continue;
		if (!is_second(paths, i, &t)) {
			put_track(out, &t, color);
			shown++;
		}
		step_track_free(&t);
	}
	json_free(paths);
}

/* How much of that time lies within the steps. */
static double overlap(int64_t from_ns, int64_t to_ns, const struct step_track *t)
{
	double first = report_number(t->steps, "first_ns"),
	       last = report_number(t->steps, "last_ns"),
	       from = (double)from_ns > first ? (double)from_ns : first,
	       to = (double)to_ns < last ? (double)to_ns : last;

	return to > from ? to - from : 0;
}

bool report_path_outside(const struct report *r, const struct finding *c)
{
	struct json paths = json_get(r->chains->analysis, "paths");
	bool outside = false;

	for (size_t i = 0; i < json_length(paths); i++) {
		struct step_track t;

		if (!step_track_get(r, paths, i, &t))
			continue;
		if (report_is_of(c, t.track))
			outside = overlap(c->first_ns - r->start_ns, c->last_ns - r->start_ns, &t) <
				  OUTSIDE_SHARE * (double)(c->last_ns - c->first_ns);
		step_track_free(&t);
	}
	json_free(paths);
	return outside;
}
