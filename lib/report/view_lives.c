/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the tables of device memory, graphs and communicators. Names of code are cut for people
 * and whole in the JSON. */
#include "lib/report/report_internal.h"

#include "lib/base/fmt.h"
#include "lib/base/plot.h"
#include "lib/report/report_columns.h"
#include "lib/report/table_cells.h"

#define PROCESSES_SHOWN 4
#define GRAPHS_SHOWN	8
#define COMMS_SHOWN	16

#define ROW view_site

static const struct column site_columns[] = {
	{ "bytes_at_peak", ">at most", COLUMN_BYTES, AT(at_peak_bytes) },
	{ "live_bytes", ">at the end", COLUMN_BYTES, AT(bytes) },
	{ "live", NULL, COLUMN_COUNT, AT(n) },
	{ "allocations", ">allocations", COLUMN_COUNT, AT(allocations) },
	{ "op", "call", COLUMN_OP, AT(op), .maybe = 1, .none = "?" },
	{ "text", "from", COLUMN_STRING, AT(text), .none = "(no stack)" },
};
const struct columns columns_sites = COLUMNS("sites", site_columns);
#undef ROW

#define ROW view_memory

static void peak_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	const struct view_memory *m = row;

	jsonw_i64(j, m->peak_bytes ? m->peak_ns - with->s->start_ns : 0);
}

static void sites_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	const struct view_memory *m = row;

	columns_array(j, &columns_sites, with, m->sites, m->nsites);
}

static const struct column memory_columns[] = {
	{ .kind = COLUMN_PROCESS, AT(process) },
	{ "live_bytes", NULL, COLUMN_BYTES, AT(live_bytes) },
	{ "managed_bytes", NULL, COLUMN_BYTES, AT(managed_bytes) },
	{ "pinned_bytes", NULL, COLUMN_BYTES, AT(pinned_bytes) },
	{ "live", NULL, COLUMN_COUNT, AT(n) },
	{ "peak_bytes", NULL, COLUMN_BYTES, AT(peak_bytes) },
	{ "peak_ns", NULL, COLUMN_SIGNED, .json = peak_json },
	{ "allocations", NULL, COLUMN_COUNT, AT(allocations) },
	{ "frees", NULL, COLUMN_COUNT, AT(frees) },
	{ "failed", NULL, COLUMN_COUNT, AT(failed) },
	{ "unknown_frees", NULL, COLUMN_COUNT, AT(unknown_frees) },
	{ "not_kept", NULL, COLUMN_COUNT, AT(beyond) },
	{ "ended", NULL, COLUMN_BOOL, AT(ended) },
	{ "sites", .rows = &columns_sites, .json = sites_json, .most = VIEW_SITES },
};
const struct columns columns_memory = COLUMNS("memory", memory_columns);
#undef ROW

#define ROW view_graph

static void made_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct view_graph *g = row;
	struct bytes site = world_text(with->w, g->site);
	struct buf title = { 0 };

	if (site.n)
		buf_add(&title, site.p, site.n);
	else
		buf_puts(&title, g->op ? g->op->name : "(no stack)");
	cell_title(t, &title);
	buf_free(&title);
}

static const struct column graph_columns[] = {
	{ "text", "graphs made in", COLUMN_STRING, AT(site), .cell = made_cell },
	{ "op", NULL, COLUMN_OP, AT(op), .maybe = 1 },
	{ "created", ">made", COLUMN_COUNT, AT(created) },
	{ "again", ">again", COLUMN_COUNT, AT(again) },
	{ "launches", ">launches", COLUMN_COUNT, AT(launches) },
	{ "alive", ">alive", COLUMN_COUNT, AT(alive) },
	{ "most_alive", ">at most", COLUMN_COUNT, AT(most_alive) },
	{ NULL, "process", COLUMN_PROCESS, AT(process) },
};
const struct columns columns_graphs = COLUMNS("graphs", graph_columns);
#undef ROW

#define ROW view_comm

static void rank_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct view_comm *c = row;

	(void)with;
	if (c->has_rank && c->ranks)
		table_cell(t, "%u of %u", c->rank, c->ranks);
	else if (c->has_rank)
		table_cell(t, "%u", c->rank);
	else
		table_cell(t, "?");
}

static void rank_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	const struct view_comm *c = row;

	(void)with;
	if (c->has_rank)
		jsonw_u64(j, c->rank);
	else
		jsonw_null(j);
}

static void failed_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct view_comm *c = row;

	(void)with;
	cell_errors(t, c->errors + c->async_errors);
}

static const struct column comm_columns[] = {
	{ "handle", "communicator", COLUMN_HANDLE, AT(handle) },
	{ "rank", "rank", COLUMN_COUNT32, .cell = rank_cell, .json = rank_json, .maybe = 1 },
	{ "ranks", NULL, COLUMN_NUMBER32, AT(ranks) },
	{ "calls", ">calls", COLUMN_COUNT, AT(calls) },
	{ "bytes", ">bytes", COLUMN_BYTES, AT(bytes) },
	{ "total_ns", ">total", COLUMN_NS, AT(ns) },
	{ "max_ns", ">max", COLUMN_NS, AT(max_ns) },
	{ "errors", ">errors", COLUMN_COUNT, AT(errors), .cell = failed_cell },
	{ "async_errors", NULL, COLUMN_COUNT, AT(async_errors) },
	{ NULL, "process", COLUMN_PROCESS, AT(process) },
};
const struct columns columns_comms = COLUMNS("communicators", comm_columns);
#undef ROW

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
	const struct columns_with with = { .w = w, .s = s };
	const struct view *v = s->view;
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < v->memory.n; i++) {
		const struct view_memory *m = &v->memory.v[i];

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
		columns_text(out, &columns_sites, &with, m->sites, m->nsites, 0, 4, st);
	}
	if (left)
		cell_more_of(out, left, "process", "es", st->columns);
	return shown > 0;
}

bool view_graphs_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st, bool heading)
{
	const struct columns_with with = { .w = w, .s = s };
	const struct view *v = s->view;

	if (v->graphs.n == 0)
		return false;
	if (heading)
		view_heading_counted(out, st, "Graphs", s, 1u << TIER_WAITS);
	columns_text(out, &columns_graphs, &with, v->graphs.v, v->graphs.n,
		     st->top ? GRAPHS_SHOWN : 0, 2, st);
	return true;
}

bool view_comms_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		     const struct report_text_style *st, bool heading)
{
	const struct columns_with with = { .w = w, .s = s };
	const struct view *v = s->view;

	if (v->comms.n == 0)
		return false;
	if (heading)
		view_heading_counted(out, st, "NCCL", s, 1u << TIER_WAITS);
	columns_text(out, &columns_comms, &with, v->comms.v, v->comms.n, st->top ? COMMS_SHOWN : 0,
		     2, st);
	return true;
}
