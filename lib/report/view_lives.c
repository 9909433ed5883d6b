/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tables of device memory, graphs and communicators. Names of code are cut here and
 * whole in the JSON. */
#include "lib/report/report_internal.h"

#include <inttypes.h>

#include "lib/base/fmt.h"
#include "lib/base/plot.h"
#include "lib/base/table.h"
#include "lib/report/table_cells.h"

#define PROCESSES_SHOWN 4
#define GRAPHS_SHOWN	8
#define COMMS_SHOWN	16

static void text_cell(struct table *t, const struct world *w, uint32_t string, const char *none)
{
	struct bytes text = world_text(w, string);
	struct buf b = { 0 };

	if (text.n)
		buf_add(&b, text.p, text.n);
	else
		buf_puts(&b, none);
	cell_title(t, &b);
	buf_free(&b);
}

static void process_cell(struct table *t, const struct world *w, uint32_t process)
{
	struct buf b = { 0 };

	view_process(&b, w, process);
	cell_title(t, &b);
	buf_free(&b);
}

static void print_table(struct buf *out, struct table *t, const struct report_text_style *st)
{
	out->failed |= !t;
	if (t)
		table_fold(out, t, 2, st->color, st->columns);
	table_free(t);
}

static void memory_line(struct buf *out, const struct world *w, const struct view_memory *m,
			const struct report_text_style *st)
{
	double v[VIEW_SPARK], top = 0;
	unsigned each = (m->npoints + VIEW_SPARK - 1) / VIEW_SPARK, n = 0;

	for (unsigned i = 0; i < m->npoints; i++) {
		n = i / each + 1;
		v[n - 1] = i % each && v[n - 1] > m->points[i] ? v[n - 1] : m->points[i];
		top = m->points[i] > top ? m->points[i] : top;
	}
	buf_puts(out, "  ");
	view_process(out, w, m->process);
	buf_printf(out, ": %s at most", fmt_bytes(m->peak_bytes).s);
	buf_printf(out, ", %s %s", fmt_bytes(m->live_bytes).s,
		   m->ended ? "when it ended" : "at the end");
	if (m->managed_bytes)
		buf_printf(out, " (%s managed)", fmt_bytes(m->managed_bytes).s);
	if (m->pinned_bytes)
		buf_printf(out, ", %s of the host pinned", fmt_bytes(m->pinned_bytes).s);
	buf_printf(out, ", %s allocations", fmt_count(m->allocations).s);
	buf_printf(out, ", %s frees", fmt_count(m->frees).s);
	if (m->failed)
		buf_printf(out, ", %s failed", fmt_count(m->failed).s);
	if (m->unknown_frees)
		buf_printf(out, ", %s more of what was allocated before or unseen",
			   fmt_count(m->unknown_frees).s);
	if (m->beyond)
		buf_printf(out, "; %s were too many to keep: bytes are a lower bound",
			   fmt_count(m->beyond).s);
	if (n > 1) {
		buf_puts(out, "  ");
		plot_spark(out, v, n, top, st->form);
	}
	buf_putc(out, '\n');
}

bool view_memory_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st)
{
	static const char *const headers[] = { ">at most", ">at the end", ">allocations",
					       "call",	   "from",	  NULL };
	const struct view *v = s->view;
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < v->memory.n; i++) {
		const struct view_memory *m = &v->memory.v[i];
		struct table *t;

		if (!m->allocations && !m->failed)
			continue;
		if (st->top && shown >= PROCESSES_SHOWN) {
			left++;
			continue;
		}
		if (shown++ == 0)
			view_heading_counted(out, st, "Memory of devices", s,
					     1u << TIER_ALLOCATIONS);
		memory_line(out, w, m, st);
		t = m->nsites ? table_new(headers) : NULL;
		out->failed |= m->nsites && !t;
		for (unsigned k = 0; t && k < m->nsites; k++) {
			const struct view_site *x = &m->sites[k];

			table_cell(t, "%s", fmt_bytes(x->at_peak_bytes).s);
			table_cell(t, "%s", fmt_bytes(x->bytes).s);
			table_cell(t, "%s", fmt_count(x->allocations).s);
			table_cell(t, "%s", x->op ? x->op->name : "?");
			text_cell(t, w, x->text, "(no stack)");
		}
		if (t)
			table_fold(out, t, 4, st->color, st->columns);
		table_free(t);
	}
	if (left)
		cell_more_of(out, left, "process", "es", st->columns);
	return shown > 0;
}

bool view_graphs_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st, bool heading)
{
	static const char *const headers[] = { "graphs made in", ">made",    ">again",	">launches",
					       ">alive",	 ">at most", "process", NULL };
	const struct view *v = s->view;
	struct table *t;

	if (v->graphs.n == 0)
		return false;
	if (heading)
		view_heading_counted(out, st, "Graphs", s, 1u << TIER_WAITS);
	t = table_new(headers);
	for (size_t i = 0; t && i < v->graphs.n && (st->top == 0 || i < GRAPHS_SHOWN); i++) {
		const struct view_graph *g = &v->graphs.v[i];

		text_cell(t, w, g->site, g->op ? g->op->name : "(no stack)");
		table_cell(t, "%s", fmt_count(g->created).s);
		table_cell(t, "%s", fmt_count(g->again).s);
		table_cell(t, "%s", fmt_count(g->launches).s);
		table_cell(t, "%s", fmt_count(g->alive).s);
		table_cell(t, "%s", fmt_count(g->most_alive).s);
		process_cell(t, w, g->process);
	}
	print_table(out, t, st);
	if (st->top && v->graphs.n > GRAPHS_SHOWN)
		cell_more(out, v->graphs.n - GRAPHS_SHOWN, st->columns);
	return true;
}

bool view_comms_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		     const struct report_text_style *st, bool heading)
{
	static const char *const headers[] = { "communicator", "rank",	  ">calls",
					       ">bytes",       ">total",  ">max",
					       ">errors",      "process", NULL };
	const struct view *v = s->view;
	struct table *t;

	if (v->comms.n == 0)
		return false;
	if (heading)
		view_heading_counted(out, st, "NCCL", s, 1u << TIER_WAITS);
	t = table_new(headers);
	for (size_t i = 0; t && i < v->comms.n && (st->top == 0 || i < COMMS_SHOWN); i++) {
		const struct view_comm *c = &v->comms.v[i];

		table_cell(t, "0x%" PRIx64, c->handle);
		if (c->has_rank && c->ranks)
			table_cell(t, "%u of %u", c->rank, c->ranks);
		else if (c->has_rank)
			table_cell(t, "%u", c->rank);
		else
			table_cell(t, "?");
		table_cell(t, "%s", fmt_count(c->calls).s);
		table_cell(t, "%s", fmt_bytes(c->bytes).s);
		table_cell(t, "%s", fmt_ns(c->ns).s);
		table_cell(t, "%s", fmt_ns(c->max_ns).s);
		cell_errors(t, c->errors + c->async_errors);
		process_cell(t, w, c->process);
	}
	print_table(out, t, st);
	if (st->top && v->comms.n > COMMS_SHOWN)
		cell_more(out, v->comms.n - COMMS_SHOWN, st->columns);
	return true;
}
