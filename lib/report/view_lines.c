/* SPDX-License-Identifier: Apache-2.0 */
/* Prints lines of a label, a bar and a value for ingero-stat. Labels and bars are aligned, so that
 * lines can be compared. */
#include "lib/report/view_lines.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/fmt.h"
#include "lib/base/plot.h"

#define BAR_COLUMNS 10

void view_heading(struct buf *out, const struct report_text_style *st, const char *title)
{
	buf_putc(out, '\n');
	fmt_styled(out, st->color, FMT_CYAN, title);
	buf_putc(out, '\n');
}

bool view_in_windows(const struct ops_summary *s, unsigned tiers)
{
	for (size_t i = 0; i < s->paused.n; i++)
		if (tiers >> s->paused.v[i].tier & 1)
			return true;
	return false;
}

void view_heading_counted(struct buf *out, const struct report_text_style *st, const char *title,
			  const struct ops_summary *s, unsigned tiers)
{
	char text[160];

	snprintf(text, sizeof(text), "%s%s", title,
		 view_in_windows(s, tiers) ? " (calls as recorded, in windows)" : "");
	view_heading(out, st, text);
}

void view_bar(struct buf *out, const struct report_text_style *st, const char *label,
	      double fraction, double low, double high)
{
	enum fmt_style style = fraction >= high	 ? FMT_RED
			       : fraction >= low ? FMT_YELLOW
						 : FMT_GREEN;

	buf_printf(out, "  %-12s ", label);
	if (fraction >= 0 || st->form == PLOT_MARKS)
		plot_bar(out, fraction, BAR_COLUMNS, st->form, st->color, style);
	else
		buf_printf(out, "%*s", BAR_COLUMNS + 2, "");
	buf_putc(out, ' ');
}

void view_course(struct buf *out, const struct report_text_style *st, const struct view_metric *m,
		 double top)
{
	double v[VIEW_SPARK], most;
	unsigned n = m ? series_means(m->series, v, VIEW_SPARK, &most) : 0;

	if (n > 1) {
		buf_puts(out, "  ");
		plot_spark(out, v, n, top > 0 ? top : most, st->form);
	}
	buf_putc(out, '\n');
}

const struct view_metric *view_find(const struct view *v, enum view_scope scope, uint32_t node,
				    uint64_t subject, enum metric_id metric)
{
	for (size_t i = 0; i < v->metrics.n; i++) {
		const struct view_metric *m = &v->metrics.v[i];

		if (m->scope == scope && m->node == node && m->subject == subject &&
		    m->metric == metric)
			return m;
	}
	return NULL;
}

uint64_t view_bytes(double value)
{
	return value > 0 ? value < 9e18 ? (uint64_t)value : UINT64_MAX : 0;
}

double view_mean(const struct view_metric *m)
{
	return m->n ? m->sum / (double)m->n : 0;
}

double view_growth(const struct view_metric *m)
{
	return m->grew_ns > 0 ? m->grew / ((double)m->grew_ns / 1e9) : 0;
}

void view_on(struct buf *out, const struct world *w, uint32_t node)
{
	const struct world_node *n = world_get_node(w, node);

	if (!n || world_count(w, WORLD_NODE) < 2)
		return;
	buf_puts(out, " on ");
	fmt_safe(out, world_text(w, n->name));
}

void view_process(struct buf *out, const struct world *w, uint32_t process)
{
	const struct world_process *p = world_get_process(w, process);
	struct bytes comm = world_text(w, world_process_name(w, process, 0, INT64_MAX));

	if (comm.n)
		fmt_safe(out, comm);
	else
		buf_putc(out, '?');
	buf_printf(out, " (pid %" PRIu32 ")", p ? p->tgid : 0);
	view_on(out, w, p ? p->node : 0);
}
