/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of where each process's time went; shares add up to all of its time. */
#include "lib/report/report_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/fmt.h"
#include "lib/base/plot.h"
#include "lib/report/table_cells.h"

#define PROCESSES_SHOWN 4
#define SHARE_LEAST	0.005 /* of a line of its own */
#define OPS_SHOWN	8     /* of most total time */
#define PLOT_COLUMNS	64
#define PLOT_LINES	4
#define BAR_COLUMNS	20

struct share {
	uint64_t ns;
	enum part part;
	bool call;
};

static int most_first(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (int)(x->part * 2u + x->call) - (int)(y->part * 2u + y->call);
}

/* What the host takes is red, what somebody waits for by himself is plain. */
enum fmt_style view_part_style(enum part part)
{
	switch (part) {
	case PART_SELF:
		return FMT_GREEN;
	case PART_DEVICE:
		return FMT_CYAN;
	case PART_PREEMPTED:
	case PART_RUNQ:
	case PART_THROTTLED:
	case PART_STOLEN:
	case PART_DISK:
	case PART_LOCK:
	case PART_FAULT:
		return FMT_RED;
	default:
		return FMT_PLAIN;
	}
}

static void share_line(struct buf *out, const struct report_text_style *st, double share,
		       enum fmt_style style, const char *what, uint64_t ns)
{
	buf_printf(out, "    %6s ", fmt_percent(share).s);
	plot_bar(out, share, BAR_COLUMNS, st->form, st->color, style);
	buf_printf(out, " %s: %s\n", what, fmt_ns(ns).s);
}

/* What is no recorded wait is the thread's own code only where all waits are recorded. */
static const char *self_text(const struct ops_summary *s)
{
	if (!s->view->off_cpu)
		return "running or waiting (which is not recorded)";
	return s->not_kept || s->lost ? "on CPU, or in what is missing here" : part_text(PART_SELF);
}

static void print_process(struct buf *out, const struct world *w, const struct view_time *t,
			  const char *self, bool in_windows, const struct report_text_style *st)
{
	struct share v[2 * PART_COUNT];
	uint64_t calls = 0, rest = 0;
	char what[160];

	for (unsigned i = 0; i < PART_COUNT; i++) {
		calls += t->in_calls[i];
		v[2 * i] = (struct share){ t->in_calls[i], (enum part)i, true };
		v[2 * i + 1] = (struct share){ t->outside[i], (enum part)i, false };
	}
	qsort(v, 2 * PART_COUNT, sizeof(v[0]), most_first);
	buf_puts(out, "  ");
	view_process(out, w, t->process);
	buf_printf(out, ": %s of %s thread%s that call%s", fmt_ns(t->ns).s, fmt_count(t->threads).s,
		   t->threads == 1 ? "" : "s", t->threads == 1 ? "s" : "");
	buf_printf(out, ", %s in calls%s\n", fmt_percent((double)calls / (double)t->ns).s,
		   in_windows ? " that were recorded" : "");
	for (unsigned i = 0; i < 2 * PART_COUNT && v[i].ns; i++) {
		double share = (double)v[i].ns / (double)t->ns;

		if (share < SHARE_LEAST) {
			rest += v[i].ns;
			continue;
		}
		snprintf(what, sizeof(what), "%s, %s%s", v[i].call ? "in calls" : "outside",
			 v[i].part == PART_SELF ? self : part_text(v[i].part),
			 in_windows && !v[i].call && v[i].part == PART_SELF
				 ? ", with calls that were not recorded"
				 : "");
		share_line(out, st, share, view_part_style(v[i].part), what, v[i].ns);
	}
	if (rest)
		share_line(out, st, (double)rest / (double)t->ns, FMT_PLAIN, "all else", rest);
}

bool view_time_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		    const struct report_text_style *st)
{
	const struct view *v = s->view;
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < v->times.n; i++) {
		if (v->times.v[i].ns == 0)
			continue;
		if (st->top && shown >= PROCESSES_SHOWN) {
			left++;
			continue;
		}
		if (shown++ == 0)
			view_heading(out, st, "Where the time went, calls inside calls folded");
		print_process(out, w, &v->times.v[i], self_text(s), view_in_windows(s, TIERS_ALL),
			      st);
	}
	if (left)
		cell_more_of(out, left, "process", "es", st->columns);
	return shown > 0;
}

static const char *per_second(char *text, size_t size, double rate)
{
	if (rate < 10)
		snprintf(text, size, "%.1f/s", rate);
	else
		snprintf(text, size, "%s/s", fmt_count((uint64_t)(rate + 0.5)).s);
	return text;
}

bool view_rates_text(struct buf *out, const struct ops_summary *s,
		     const struct report_text_style *st)
{
	const struct view *v = s->view;
	double points[PLOT_COLUMNS], top, seconds = (double)(s->end_ns - s->start_ns) / 1e9;
	char mean[64], most[64];
	bool any = false;

	for (size_t i = 0; i < v->rates.n; i++) {
		const struct view_rate *r = &v->rates.v[i];
		unsigned width = st->plot ? PLOT_COLUMNS : VIEW_SPARK;
		unsigned n = series_rates(r->series, s->start_ns, s->end_ns, points, width, &top);
		uint64_t events = 0;

		for (unsigned k = 0; k < r->series->n; k++)
			events += r->series->v[k].n;
		if (seconds <= 0 || events == 0)
			continue;
		if (!any)
			view_heading_counted(out, st, "Events per second, over time", s, TIERS_ALL);
		any = true;
		per_second(mean, sizeof(mean), (double)events / seconds);
		per_second(most, sizeof(most), top);
		buf_printf(out, "  %-8s %12s, at most %12s%s", source_name(r->source), mean, most,
			   st->plot ? "\n" : "  ");
		if (st->plot) {
			plot_curve(out, points, n, top, most, PLOT_LINES, 2, st->form);
		} else {
			plot_spark(out, points, n, top, st->form);
			buf_putc(out, '\n');
		}
	}
	return any;
}

static int by_total(const void *a, const void *b)
{
	const struct ops_row *const *x = a, *const *y = b;

	if ((*x)->total_ns != (*y)->total_ns)
		return (*x)->total_ns > (*y)->total_ns ? -1 : 1;
	return (*x)->op->id < (*y)->op->id ? -1 : (*x)->op->id > (*y)->op->id;
}

static uint64_t power_low(unsigned k)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): k is 64 at most */
	return k ? 1ull << (k - 1) : 0;
}

static void print_histogram(struct buf *out, const struct ops_row *r, unsigned from, unsigned to,
			    uint64_t most, const struct report_text_style *st)
{
	buf_printf(out, "  %s\n", r->op->name);
	for (unsigned k = from; k <= to; k++) {
		double share = (double)r->powers[k] / (double)r->count;

		buf_printf(out, "    %8s up to %-8s ", fmt_ns(power_low(k)).s,
			   fmt_ns(k < 64 ? 1ull << k : UINT64_MAX).s);
		plot_bar(out, (double)r->powers[k] / (double)most, 2 * BAR_COLUMNS, st->form,
			 st->color, FMT_CYAN);
		buf_printf(out, " %s, %s\n", fmt_count(r->powers[k]).s, fmt_percent(share).s);
	}
}

static void print_sparkline(struct buf *out, const struct ops_row *r, unsigned from, unsigned to,
			    uint64_t most, const struct report_text_style *st)
{
	double v[OPS_POWERS];

	for (unsigned k = from; k <= to; k++)
		v[k - from] = (double)r->powers[k];
	buf_printf(out, "  %-24s ", r->op->name);
	if (st->form != PLOT_MARKS)
		buf_printf(out, "%8s ", fmt_ns(power_low(from)).s);
	plot_spark(out, v, to - from + 1, (double)most, st->form);
	if (st->form == PLOT_MARKS)
		buf_printf(out, " %s to", fmt_ns(power_low(from)).s);
	buf_printf(out, " %s\n", fmt_ns(to < 64 ? 1ull << to : UINT64_MAX).s);
}

bool view_latency_text(struct buf *out, const struct ops_summary *s,
		       const struct report_text_style *st)
{
	const struct ops_row **v = calloc(s->rows.n ? s->rows.n : 1, sizeof(*v));
	size_t n = 0, shown;

	if (!v) {
		out->failed = true;
		return false;
	}
	for (size_t i = 0; i < s->rows.n; i++)
		if (s->rows.v[i].op->flags & OP_CALL && s->rows.v[i].total_ns)
			v[n++] = &s->rows.v[i];
	if (n)
		qsort(v, n, sizeof(*v), by_total);
	shown = st->top == 0 || n < OPS_SHOWN ? n : OPS_SHOWN;
	if (shown)
		view_heading_counted(
			out, st, "How long calls took, by powers of two: calls of most time first",
			s, TIERS_ALL);
	for (size_t i = 0; i < shown; i++) {
		unsigned from = 0, to = OPS_POWERS - 1;
		uint64_t most = 0;

		while (v[i]->powers[from] == 0)
			from++;
		while (v[i]->powers[to] == 0)
			to--;
		for (unsigned k = from; k <= to; k++)
			most = v[i]->powers[k] > most ? v[i]->powers[k] : most;
		if (st->plot)
			print_histogram(out, v[i], from, to, most, st);
		else
			print_sparkline(out, v[i], from, to, most, st);
	}
	if (n > shown)
		cell_more(out, n - shown, st->columns);
	free(v);
	return shown > 0;
}
