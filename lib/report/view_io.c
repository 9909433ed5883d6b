/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the sections of block I/O and of sockets of ingero-stat. Rows with most time come
 * first. */
#include "lib/report/report_internal.h"

#include "lib/base/fmt.h"
#include "lib/base/table.h"
#include "lib/report/table_cells.h"

#define FILES_SHOWN   8
#define SOCKETS_SHOWN 8

static const char *way_text(unsigned way)
{
	static const char *const ways[] = { "read", "write", "flush", "discard" };

	return way < 4 ? ways[way] : "other";
}

/* named: of which machine is said. */
static void device_cell(struct table *t, const struct world *w, const struct view_disk *d,
			bool named)
{
	const struct world_node *n = named ? world_get_node(w, d->node) : NULL;
	struct bytes node = n ? world_text(w, n->name) : (struct bytes){ 0 };
	struct bytes origin = world_text(w, d->origin), mount = world_text(w, d->mount);
	struct buf text = { 0 };

	if (node.n)
		buf_printf(&text, "%.*s: ", (int)node.n, node.p);
	if (d->device)
		buf_printf(&text, "%llu:%llu", (unsigned long long)d->device >> 20,
			   (unsigned long long)d->device & 0xfffff);
	else
		buf_puts(&text, "unknown");
	if (origin.n)
		buf_printf(&text, " %.*s", (int)origin.n, origin.p);
	if (mount.n)
		buf_printf(&text, " on %.*s", (int)mount.n, mount.p);
	cell_title(t, &text);
	buf_free(&text);
}

static void print_disks(struct buf *out, const struct world *w, const struct ops_summary *s,
			const struct report_text_style *st)
{
	const struct view *v = s->view;
	static const char *const headers[] = { "device", "what", ">count", ">bytes",	 ">p50",
					       ">p99",	 ">max", ">queue", ">at device", NULL };
	struct table *t = table_new(headers);
	struct fmt_text text;

	for (size_t i = 0; t && i < v->disks.n; i++) {
		const struct view_disk *d = &v->disks.v[i];

		device_cell(t, w, d, s->nodes > 1);
		table_cell(t, "%s", way_text(d->way));
		table_cell(t, "%s", fmt_count(d->count).s);
		table_cell(t, "%s", fmt_bytes(d->bytes).s);
		table_cell(t, "%s", cell_quantile(&text, d->p50_ns, d->count));
		table_cell(t, "%s", cell_quantile(&text, d->p99_ns, d->count));
		table_cell(t, "%s", fmt_ns(d->max_ns).s);
		table_cell(t, "%s", d->queued ? fmt_ns(d->queue_ns).s : "-");
		table_cell(t, "%s", d->queued ? fmt_ns(d->device_ns).s : "-");
	}
	out->failed |= !t;
	if (t)
		table_fold(out, t, 2, st->color, st->columns);
	table_free(t);
}

static void print_files(struct buf *out, const struct world *w, const struct view *v,
			const struct report_text_style *st)
{
	static const char *const headers[] = {
		"file waited for", ">waits", ">total", ">max", "on", NULL
	};
	struct table *t = table_new(headers);
	struct buf text = { 0 };

	for (size_t i = 0; t && i < v->files.n && (st->top == 0 || i < FILES_SHOWN); i++) {
		const struct view_file *f = &v->files.v[i];
		struct bytes path = world_text(w, f->path), type = world_text(w, f->fstype),
			     origin = world_text(w, f->origin);

		buf_printf(&text, "%.*s", path.n ? (int)path.n : 1, path.n ? path.p : "?");
		cell_title(t, &text);
		table_cell(t, "%s", fmt_count(f->count).s);
		table_cell(t, "%s", fmt_ns(f->ns).s);
		table_cell(t, "%s", fmt_ns(f->max_ns).s);
		table_cell(t, "%.*s%s%.*s", (int)type.n, type.n ? type.p : "",
			   type.n && origin.n ? " " : "", (int)origin.n, origin.n ? origin.p : "");
	}
	out->failed |= !t || text.failed;
	if (t)
		table_fold(out, t, 2, st->color, st->columns);
	if (st->top && v->files.n > FILES_SHOWN)
		cell_more(out, v->files.n - FILES_SHOWN, st->columns);
	buf_free(&text);
	table_free(t);
}

/* Requests of processes that are not recorded, which the devices serve too. */
static bool print_other_requests(struct buf *out, const struct view *v)
{
	bool any = false;

	for (size_t i = 0; i < v->metrics.n; i++) {
		const struct view_metric *m = &v->metrics.v[i];

		if (m->scope != VIEW_DEVICE || m->metric != METRIC_DISK_OTHERS || m->grew <= 0)
			continue;
		buf_printf(out, "  %llu:%llu served %.0f requests of other processes meanwhile\n",
			   (unsigned long long)m->subject >> 20,
			   (unsigned long long)m->subject & 0xfffff, m->grew);
		any = true;
	}
	return any;
}

bool view_io_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		  const struct report_text_style *st)
{
	const struct view *v = s->view;
	struct buf of_others = { 0 };
	bool any = print_other_requests(&of_others, v) || v->disks.n || v->files.n;

	if (any)
		view_heading(out, st, "Block I/O and files");
	if (v->disks.n)
		print_disks(out, w, s, st);
	buf_add(out, of_others.p, of_others.n);
	if (v->files.n)
		print_files(out, w, v, st);
	out->failed |= of_others.failed;
	buf_free(&of_others);
	return any;
}

/* Who has the other end. */
static void peer_cell(struct table *t, const struct world *w, const struct view_socket *x)
{
	struct bytes comm = world_text(w, x->peer_comm);

	if (x->peer_pid)
		table_cell(t, "%.*s (pid %u)", comm.n ? (int)comm.n : 1, comm.n ? comm.p : "?",
			   x->peer_pid);
	else
		table_cell(t, "%.*s", (int)comm.n, comm.n ? comm.p : "");
}

static void print_sockets(struct buf *out, const struct world *w, const struct view *v,
			  const struct report_text_style *st)
{
	static const char *const headers[] = { "socket", "process",	">waits",    ">total",
					       ">max",	 ">sent again", ">segments", NULL };
	struct table *t = table_new(headers);
	struct buf text = { 0 };

	for (size_t i = 0; t && i < v->sockets.n && (st->top == 0 || i < SOCKETS_SHOWN); i++) {
		const struct view_socket *x = &v->sockets.v[i];
		struct bytes protocol = world_text(w, x->protocol),
			     end = world_text(w, x->remote ? x->remote : x->local);

		buf_printf(&text, "%.*s%s%.*s", protocol.n ? (int)protocol.n : 1,
			   protocol.n ? protocol.p : "?",
			   end.n ? (x->remote ? " to " : " at ") : "", (int)end.n,
			   end.n ? end.p : "");
		cell_title(t, &text);
		peer_cell(t, w, x);
		table_cell(t, "%s", fmt_count(x->count).s);
		table_cell(t, "%s", x->count ? fmt_ns(x->ns).s : "-");
		table_cell(t, "%s", x->count ? fmt_ns(x->max_ns).s : "-");
		cell_errors(t, x->retransmits);
		table_cell(t, "%s", x->retransmits ? fmt_count(x->segments).s : "-");
	}
	out->failed |= !t || text.failed;
	if (t)
		table_fold(out, t, 2, st->color, st->columns);
	if (st->top && v->sockets.n > SOCKETS_SHOWN)
		cell_more(out, v->sockets.n - SOCKETS_SHOWN, st->columns);
	buf_free(&text);
	table_free(t);
}

bool view_net_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct report_text_style *st)
{
	const struct view *v = s->view;
	double more = 0;

	for (size_t i = 0; i < v->metrics.n; i++)
		if (v->metrics.v[i].scope == VIEW_NODE &&
		    v->metrics.v[i].metric == METRIC_TCP_OTHERS)
			more += v->metrics.v[i].grew;
	if (v->sockets.n == 0 && more <= 0)
		return false;
	view_heading(out, st, "TCP and sockets");
	if (v->sockets.n)
		print_sockets(out, w, v, st);
	if (more > 0)
		buf_printf(out, "  %.0f segments were sent again by other processes meanwhile\n",
			   more);
	return true;
}
