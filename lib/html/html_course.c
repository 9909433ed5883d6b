/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the plot of lost time over the recording. SVG stretches with the page and text must not, so
 * axis and labels are text beside it. Times are in thousandths of the recording: the plot of a day
 * is as small as that of a second.
 */
#include "lib/html/html_internal.h"

#include <string.h>

#include "lib/base/fmt.h"
#include "lib/html/html_text.h"
#include "lib/report/report_parts.h"
#include "lib/report/report_recording.h"
#include "lib/event/part.h"
#include "lib/event/section_rows.h"
#include "lib/stat/series.h"

#define HEIGHT	   140
#define LEAST	   2.0 /* thousandths: what is shorter would not be seen */
#define TICKS	   4
#define TOP_LEAST  0.05 /* of a second: a little that was lost does not look like much */
#define LABEL_MOST 120
#define MOMENTS	   32 /* drawn of one cause */

/* All states on one axis: that of the widest spans. */
struct stack {
	int64_t span_ns, first;
	unsigned n;
	double ns[SERIES_POINTS][PART_COUNT], top; /* top: the most lost in a second */
	double sum[PART_COUNT];
};

static double clamp_to(double x, double high)
{
	return x < 0 ? 0 : x > high ? high : x;
}

static double whole_ns(const struct html_page *p)
{
	return (double)p->report->end_ns - (double)p->report->start_ns;
}

/* Thousandths of the recording, of a time after its start; and of one on its clock. */
static double x_after(const struct html_page *p, double ns)
{
	return clamp_to(ns / whole_ns(p) * 1000, 1000);
}

static double x_of(const struct html_page *p, int64_t ns)
{
	return x_after(p, (double)ns - (double)p->report->start_ns);
}

static int64_t index_of(const struct series *s, unsigned i, int64_t span_ns)
{
	int64_t at = (s->first + i) * s->span_ns;

	return at / span_ns - (at % span_ns < 0);
}

static bool stack_up(struct stack *st, const struct view *v)
{
	bool any = false;

	memset(st, 0, sizeof(*st));
	for (unsigned k = 0; k < PART_COUNT; k++)
		if (v->lost[k] && v->lost[k]->span_ns > st->span_ns)
			st->span_ns = v->lost[k]->span_ns;
	for (unsigned k = 0; k < PART_COUNT; k++) {
		int64_t first;

		if (!v->lost[k] || v->lost[k]->n == 0)
			continue;
		first = index_of(v->lost[k], 0, st->span_ns);
		st->first = any && st->first < first ? st->first : first;
		any = true;
	}
	for (unsigned k = 0; k < PART_COUNT; k++)
		for (unsigned i = 0; v->lost[k] && i < v->lost[k]->n; i++) {
			int64_t at = index_of(v->lost[k], i, st->span_ns) - st->first;

			at = at < SERIES_POINTS ? at : SERIES_POINTS - 1;
			st->ns[at][k] += (double)v->lost[k]->v[i].n;
			st->sum[k] += (double)v->lost[k]->v[i].n;
			st->n = (unsigned)at + 1 > st->n ? (unsigned)at + 1 : st->n;
		}
	return any;
}

/* The time of a point that lies within the recording: rates at its ends are of less than a span. */
static double within_ns(const struct html_page *p, const struct stack *st, unsigned i)
{
	int64_t from = (st->first + i) * st->span_ns, to = from + st->span_ns;

	from = from > p->report->start_ns ? from : p->report->start_ns;
	to = to < p->report->end_ns ? to : p->report->end_ns;
	return to > from ? (double)(to - from) : 0;
}

/* Lost in a second of the time around point i; a sliver at an end says nothing about a second. */
static double loss_rate(const struct html_page *p, const struct stack *st, unsigned i, double ns)
{
	double whole = (double)st->span_ns, within = within_ns(p, st, i);

	return ns / (within > whole / 4 ? within : whole / 4);
}

static void find_top_rate(const struct html_page *p, struct stack *st)
{
	for (unsigned i = 0; i < st->n; i++) {
		double all = 0;

		for (unsigned k = 0; k < PART_COUNT; k++)
			all += st->ns[i][k];
		all = loss_rate(p, st, i, all);
		st->top = all > st->top ? all : st->top;
	}
	st->top = st->top < TOP_LEAST ? TOP_LEAST : st->top;
}

/* One state: a box for each point, on those of the states below it. */
static void print_layer(struct buf *out, const struct html_page *p, const struct stack *st,
			unsigned k)
{
	buf_printf(out, "<path class=\"p-%s\" d=\"", part_name((enum part)k));
	for (unsigned i = 0; i < st->n; i++) {
		double below = 0, x, width, y, high;

		if (st->ns[i][k] <= 0)
			continue;
		for (unsigned b = 0; b < k; b++)
			below += st->ns[i][b];
		x = x_of(p, (st->first + i) * st->span_ns);
		width = x_of(p, (st->first + i + 1) * st->span_ns) - x;
		width = width > LEAST ? width : LEAST;
		high = loss_rate(p, st, i, st->ns[i][k]) / st->top * HEIGHT;
		y = HEIGHT - loss_rate(p, st, i, below) / st->top * HEIGHT - high;
		buf_printf(out, "M%.1f %.2fh%.1fv%.2fh-%.1fz", x, y, width, high, width);
	}
	buf_puts(out, "\"/>");
}

static void print_axis(struct buf *out, const struct html_page *p)
{
	double whole = whole_ns(p);
	char t[48];

	buf_puts(out, "<div class=\"x\" aria-hidden=\"true\">");
	for (unsigned i = 0; i <= TICKS; i++)
		buf_printf(out, "<span>%s</span>",
			   i ? report_ns(t, sizeof(t), whole * i / TICKS) : "0 s");
	buf_puts(out, "</div>\n");
}

static void print_legend(struct buf *out, const struct stack *st)
{
	char t[48];

	buf_puts(out, "<ul class=\"legend\">");
	for (unsigned k = 0; k < PART_COUNT; k++)
		if (st->sum[k] > 0)
			buf_printf(out,
				   "<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect "
				   "class=\"p-%s\" "
				   "width=\"1\" height=\"1\"/></svg>%s <b>%s</b></li>",
				   part_name((enum part)k), part_text((enum part)k),
				   report_ns(t, sizeof(t), st->sum[k]));
	buf_puts(out, "</ul>\n");
}

static void print_loss_plot(struct buf *out, const struct html_page *p, struct stack *st)
{
	double all = 0;
	char t[48];

	find_top_rate(p, st);
	for (unsigned k = 0; k < PART_COUNT; k++)
		all += st->sum[k];
	buf_printf(out,
		   "<p class=\"i\">The host took %s from the recorded threads, all of them "
		   "together. How much in a second:</p>\n",
		   report_ns(t, sizeof(t), all));
	buf_puts(out, "<div class=\"plot\"><div class=\"y\" aria-hidden=\"true\"><span>");
	html_escape(out, bytes_of(report_ns(t, sizeof(t), st->top * 1e9)), 0);
	buf_puts(out, "</span><span>");
	html_escape(out, bytes_of(report_ns(t, sizeof(t), st->top * 1e9 / 2)), 0);
	buf_puts(out, "</span><span>0</span></div>\n");
	buf_printf(out,
		   "<svg class=\"course\" viewBox=\"0 0 1000 %u\" preserveAspectRatio=\"none\" "
		   "role=\"img\" aria-label=\"Lost time over the time of the recording\">"
		   "<rect class=\"bg\" width=\"1000\" height=\"%u\"/>",
		   HEIGHT, HEIGHT);
	for (unsigned k = 0; k < PART_COUNT; k++)
		if (st->sum[k] > 0)
			print_layer(out, p, st, k);
	buf_puts(out, "</svg>\n");
}

/* From x to to; the caller ends it, so that it can have a title. */
static void open_box(struct buf *out, const char *class, double x, double to)
{
	double width = to - x > LEAST ? to - x : LEAST;

	x = x + width > 1000 ? 1000 - width : x;
	buf_printf(out, "<rect class=\"%s\" x=\"%.1f\" width=\"%.1f\" height=\"12\">", class, x,
		   width);
}

/* The intervals that show it best; the mouse pointer shows their text. */
static void print_moments(struct buf *out, const struct html_page *p, const struct finding *c)
{
	for (size_t i = 0; i < c->moments.n && i < MOMENTS; i++) {
		const struct finding_moment *m = &c->moments.v[i];

		if (bytes_equal(m->layer, bytes_of("SYSTEM")))
			continue;
		open_box(out, "e", x_after(p, (double)m->start_ns),
			 x_after(p, (double)m->start_ns + (double)m->dur_ns));
		buf_puts(out, "<title>");
		html_escape(out, m->text, 0);
		buf_puts(out, "</title></rect>");
	}
}

#define LANE_SVG                                                                          \
	"<svg viewBox=\"0 0 1000 12\" preserveAspectRatio=\"none\" aria-hidden=\"true\">" \
	"<rect class=\"bg\" width=\"1000\" height=\"12\"/>"

static void print_lane(struct buf *out, const struct html_page *p, const struct finding *c,
		       unsigned at)
{
	char ns[48];

	buf_printf(out, "<div class=\"lane\"><a href=\"#cause-%u\">", at);
	html_escape(out, c->kind, LABEL_MOST);
	buf_puts(out, "</a> <span>");
	html_escape(out, c->culprit.text, LABEL_MOST);
	if (c->lost_ns)
		buf_printf(out, ", %s%s", report_about(c),
			   report_ns(ns, sizeof(ns), (double)c->lost_ns));
	buf_puts(out, "</span>" LANE_SVG);
	open_box(out,
		 c->severity >= FINDING_HIGH	 ? "v3"
		 : c->severity == FINDING_MEDIUM ? "v2"
						 : "v1",
		 x_of(p, c->first_ns), x_of(p, c->last_ns));
	buf_puts(out, "</rect>");
	print_moments(out, p, c);
	buf_puts(out, "</svg></div>\n");
}

static void print_gaps(struct buf *out, const struct html_page *p)
{
	uint64_t events = 0;

	if (p->ngaps == 0)
		return;
	for (size_t i = 0; i < p->ngaps; i++)
		events += p->gaps[i].events;
	buf_printf(out,
		   "<div class=\"lane\"><a href=\"#coverage\">events lost</a> "
		   "<span>%s</span>" LANE_SVG,
		   fmt_count(events).s);
	for (size_t i = 0; i < p->ngaps && i < HTML_GAPS; i++) {
		open_box(out, "gap", x_of(p, p->gaps[i].from_ns), x_of(p, p->gaps[i].to_ns));
		buf_puts(out, "</rect>");
	}
	buf_puts(out, "</svg></div>\n");
}

static bool any_lane(const struct html_page *p)
{
	for (size_t i = 0; i < p->report->chains->v.n; i++)
		if (report_selects(p->report, &p->report->chains->v.v[i]))
			return true;
	return p->ngaps > 0;
}

void html_course(struct buf *out, const struct html_page *p)
{
	const struct report *r = p->report;
	struct stack st;
	bool any = p->ops->view && stack_up(&st, p->ops->view);
	unsigned lanes = 0;

	if ((!any && !any_lane(p)) || r->end_ns <= r->start_ns)
		return;
	buf_puts(out, "<section id=\"time\"><h2>When time was lost</h2>\n");
	if (any) {
		print_loss_plot(out, p, &st);
		print_axis(out, p);
		buf_puts(out, "</div>\n");
		print_legend(out, &st);
	}
	if (any_lane(p))
		buf_puts(out, "<h3>When each cause was at work</h3>\n");
	for (size_t i = 0; i < r->chains->v.n && lanes < HTML_LANES; i++)
		if (report_selects(r, &r->chains->v.v[i]))
			print_lane(out, p, &r->chains->v.v[i], ++lanes);
	print_gaps(out, p);
	if (lanes || p->ngaps) {
		buf_puts(out, "<div class=\"plot\">");
		print_axis(out, p);
		buf_puts(out, "</div>\n");
	}
	buf_puts(out, "</section>\n");
}
