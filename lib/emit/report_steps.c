/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few lines a thread.
 */
#include "lib/emit/report_steps.h"

#include "lib/base/human.h"
#include "lib/emit/report_parts.h"
#include "lib/emit/step_track.h"
#include "lib/emit/report_recording.h"
#include "lib/event/part.h"

#define THREADS_SHOWN 5
#define SLOW_SHOWN    3
#define CHAINS_SHOWN  3

void report_steps_count(struct buf *out, struct json s)
{
	double windows = report_number(s, "windows");

	if (windows > 0)
		buf_printf(out, "~%s, ",
			   human_count((uint64_t)report_number(s, "estimated_count")).s);
	buf_puts(out, human_count((uint64_t)report_number(s, "count")).s);
	if (windows > 0)
		buf_printf(out, " of them recorded, in %s windows",
			   human_count((uint64_t)windows).s);
}

bool report_steps_unseen(struct buf *out, struct json s, const char *before)
{
	double ns = report_number(s, "unseen_ns");
	char a[48];

	if (ns > 0)
		buf_printf(out,
			   "%snot known to be the program's main loop: for %s before and after, "
			   "copies and waits were not all recorded\n",
			   before, report_ns(a, sizeof(a), ns));
	return ns > 0;
}

static void heading(struct buf *out, const struct report *r, struct json s, bool color)
{
	char a[48], b[48], m[48];

	buf_putc(out, '\n');
	report_style(out, color, "1");
	buf_puts(out, "Steps of ");
	report_member(out, s, "comm", "?");
	buf_printf(out, " (pid %.0f", report_number(s, "pid"));
	if (report_number(s, "tid") != report_number(s, "pid"))
		buf_printf(out, ", tid %.0f", report_number(s, "tid"));
	buf_putc(out, ')');
	report_on(out, r, s);
	report_style(out, color, "0");
	buf_puts(out, ": ");
	report_steps_count(out, s);
	buf_printf(out, ", median %s, p99 %s, longest %s; ",
		   report_ns(a, sizeof(a), report_number(s, "p50_ns")),
		   report_ns(b, sizeof(b), report_number(s, "p99_ns")),
		   report_ns(m, sizeof(m), report_number(s, "max_ns")));
	buf_puts(out, human_count((uint64_t)report_number(s, "slow_count")).s);
	buf_puts(out, " took half as much again as the median, or more\n");
}

/* Where a step ends: the last call of the sequence. */
static void ends(struct buf *out, struct json s)
{
	struct json sequence = json_get(s, "sequence");
	size_t n = json_length(sequence);
	struct json last = json_at(sequence, n ? n - 1 : 0);

	if (n) {
		buf_puts(out, "    each ends with ");
		report_member(out, last, "op", "?");
		buf_puts(out, " in ");
		report_member(out, last, "text", "(no stack)");
		buf_putc(out, '\n');
	}
	json_free(last);
	json_free(sequence);
}

/* Some of it lies where the steps do: what came before the first of them, or after the last, cost them nothing. */
static bool in_steps(const struct finding *c, double first_ns, double last_ns)
{
	return (double)c->first_after_ns < last_ns && (double)c->last_after_ns > first_ns;
}

/* What a step of the thread that was hit worst would be shorter by. Where that is not known: what it took, spread over all
 * steps. Threads lose side by side, and then this can be more than all steps took: 0, nothing can be said. */
static double of_step(const struct finding *c, double steps, double steps_ns)
{
	double ns = (double)c->lost_ns <= steps_ns ? (double)c->lost_ns / steps : 0;

	for (size_t i = 0; i < c->without.n; i++) {
		const struct finding_without *one = &c->without.v[i];

		if (bytes_equal(one->what, bytes_of("step")))
			ns = (double)one->from_ns - (double)one->low_ns;
	}
	return ns;
}

double report_steps_made(struct json s)
{
	double all = report_number(s, "estimated_count");

	return all > 0 ? all : report_number(s, "count");
}

/* What chains of the process cost a step of any of its threads; told with the first of them. */
static void chains(struct buf *out, const struct report *r, struct json all, size_t at)
{
	struct json own = json_at(all, at), node = json_get(own, "node");
	double count = 0, all_ns = 0, pid = report_number(own, "pid"), first = 0, last = 0;
	bool before = false;
	unsigned shown = 0;
	char ns[48];

	for (size_t i = 0; i < json_length(all) && !before; i++) {
		struct json s = json_at(all, i), on = json_get(s, "node");
		bool is = report_number(s, "pid") == pid &&
			  bytes_equal(json_bytes(on), json_bytes(node));

		if (is) {
			double from = report_number(s, "first_ns"),
			       until = report_number(s, "last_ns");

			first = count == 0 || from < first ? from : first;
			last = count == 0 || until > last ? until : last;
			count += report_steps_made(s);
			all_ns += until - from > report_number(s, "total_ns")
					  ? until - from
					  : report_number(s, "total_ns");
		}
		before = is && i < at;
		json_free(on);
		json_free(s);
	}
	json_free(node);
	for (size_t i = 0; i < r->chains->v.n && shown < CHAINS_SHOWN && !before; i++) {
		const struct finding *c = &r->chains->v.v[i];
		double step = count > 0 ? of_step(c, count, all_ns) : 0;

		if (step >= 1 && report_is_of(c, own) && in_steps(c, first, last)) {
			buf_puts(out, shown++ ? ", " : "    on average a step loses ");
			buf_printf(out, "%s%s to %s", report_about(c),
				   report_ns(ns, sizeof(ns), step), c->kind.p);
		}
	}
	json_free(own);
	if (shown)
		buf_putc(out, '\n');
}

/* The state that took most of a slow step besides its own code and the device. */
static enum part most_of(struct json parts, double *ns)
{
	enum part most = PART_SELF;

	*ns = 0;
	for (unsigned i = 0; i < PART_COUNT; i++) {
		double x = report_number(parts, part_name((enum part)i));

		if (i != PART_SELF && i != PART_DEVICE && x > *ns) {
			most = (enum part)i;
			*ns = x;
		}
	}
	return most;
}

static void slow(struct buf *out, struct json s)
{
	struct json all = json_get(s, "slow");

	for (size_t i = 0; i < json_length(all) && i < SLOW_SHOWN; i++) {
		struct json step = json_at(all, i), parts = json_get(step, "parts");
		char a[48], b[48], d[48];
		double ns, all_ns = report_number(step, "dur_ns");
		enum part most = most_of(parts, &ns);

		buf_printf(out, "    step %.0f, %s after the start, took %s",
			   report_number(step, "number"),
			   report_ns(a, sizeof(a), report_number(step, "t_ns")),
			   report_ns(b, sizeof(b), all_ns));
		if (ns > 0.1 * all_ns)
			buf_printf(out, ", of which %s %s", report_ns(d, sizeof(d), ns),
				   part_text(most));
		buf_putc(out, '\n');
		json_free(parts);
		json_free(step);
	}
	json_free(all);
}

/* Whether its steps were shown with what each line of them takes. */
static bool has_lines(const struct report *r, struct json thread)
{
	struct json node = json_get(thread, "node");
	struct step_track t;
	bool has = false;

	for (size_t at = 0; !has && step_track_next(r, &at, &t);)
		has = t.track->pid == report_number(thread, "pid") &&
		      bytes_equal(t.track->node, json_bytes(node));
	json_free(node);
	return has;
}

void report_steps_text(struct buf *out, const struct report *r, bool color)
{
	struct json all = json_get(r->chains->analysis, "steps");
	unsigned shown = 0;

	for (size_t i = 0; i < json_length(all) && shown < THREADS_SHOWN; i++) {
		struct json s = json_at(all, i);

		if (report_shows(r, s) && !has_lines(r, s)) {
			heading(out, r, s, color);
			ends(out, s);
			if (!report_steps_unseen(out, s, "    "))
				chains(out, r, all, i);
			slow(out, s);
			shown++;
		}
		json_free(s);
	}
	json_free(all);
}
