/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sections of block I/O and of sockets of ingero-stat. Rows with most time come
 * first. */
#include "lib/report/report_internal.h"

#include "lib/report/report_columns.h"
#include "lib/report/table_cells.h"
#include "lib/report/view_json_parts.h"

#define FILES_SHOWN   8
#define SOCKETS_SHOWN 8

#define ROW view_disk

static const char *const ways[] = { "read", "write", "flush", "discard", "other", NULL };

static const char *way_name(const void *row)
{
	const struct view_disk *d = row;

	return ways[d->way < 4 ? d->way : 4];
}

/* With its machine where there are several, and what is known to lie on it. */
static void device_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct view_disk *d = row;
	const struct world_node *n = with->s->nodes > 1 ? world_get_node(with->w, d->node) : NULL;
	struct bytes node = n ? world_text(with->w, n->name) : (struct bytes){ 0 };
	struct bytes origin = world_text(with->w, d->origin), mount = world_text(with->w, d->mount);
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

static void device_json(struct jsonw *j, const struct columns_with *with, const void *row)
{
	const struct view_disk *d = row;

	(void)with;
	view_json_device(j, d->device);
}

static const struct column disk_columns[] = {
	{ "node", NULL, COLUMN_NODE, AT(node) },
	{ "device", "device", COLUMN_NAME, .cell = device_cell, .json = device_json },
	{ "origin", NULL, COLUMN_STRING, AT(origin) },
	{ "mount", NULL, COLUMN_STRING, AT(mount) },
	{ "what", "what", COLUMN_NAME, .name = way_name, .names = ways },
	{ "count", ">count", COLUMN_COUNT, AT(count) },
	{ "bytes", ">bytes", COLUMN_BYTES, AT(bytes) },
	{ "p50_ns", ">p50", COLUMN_QUANTILE, AT(p50_ns), OF(count) },
	{ "p99_ns", ">p99", COLUMN_QUANTILE, AT(p99_ns), OF(count) },
	{ "max_ns", ">max", COLUMN_NS, AT(max_ns) },
	{ "queued", NULL, COLUMN_COUNT, AT(queued) },
	{ "queue_ns", ">queue", COLUMN_NS, AT(queue_ns), OF(queued) },
	{ "device_ns", ">at device", COLUMN_NS, AT(device_ns), OF(queued) },
};
const struct columns columns_disks = COLUMNS("disks", disk_columns);
#undef ROW

#define ROW view_file

/* What it lies on. */
static void place_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct view_file *f = row;
	struct bytes type = world_text(with->w, f->fstype), origin = world_text(with->w, f->origin);

	table_cell(t, "%.*s%s%.*s", (int)type.n, type.n ? type.p : "",
		   type.n && origin.n ? " " : "", (int)origin.n, origin.n ? origin.p : "");
}

static const struct column file_columns[] = {
	{ "path", "file waited for", COLUMN_STRING, AT(path), .none = "?" },
	{ "fstype", NULL, COLUMN_STRING, AT(fstype) },
	{ "mount", NULL, COLUMN_STRING, AT(mount) },
	{ "origin", NULL, COLUMN_STRING, AT(origin) },
	{ "count", ">waits", COLUMN_COUNT, AT(count) },
	{ "total_ns", ">total", COLUMN_NS, AT(ns) },
	{ "max_ns", ">max", COLUMN_NS, AT(max_ns) },
	{ .head = "on", .cell = place_cell },
};
const struct columns columns_files = COLUMNS("files", file_columns);
#undef ROW

#define ROW view_socket

static void socket_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct view_socket *x = row;
	struct bytes protocol = world_text(with->w, x->protocol),
		     end = world_text(with->w, x->remote ? x->remote : x->local);
	struct buf text = { 0 };

	buf_printf(&text, "%.*s%s%.*s", protocol.n ? (int)protocol.n : 1,
		   protocol.n ? protocol.p : "?", end.n ? (x->remote ? " to " : " at ") : "",
		   (int)end.n, end.n ? end.p : "");
	cell_title(t, &text);
	buf_free(&text);
}

/* Who has the other end. */
static void peer_cell(struct table *t, const struct columns_with *with, const void *row)
{
	const struct view_socket *x = row;
	struct bytes comm = world_text(with->w, x->peer_comm);

	if (x->peer_pid)
		table_cell(t, "%.*s (pid %u)", comm.n ? (int)comm.n : 1, comm.n ? comm.p : "?",
			   x->peer_pid);
	else
		table_cell(t, "%.*s", (int)comm.n, comm.n ? comm.p : "");
}

static const struct column socket_columns[] = {
	{ "protocol", "socket", COLUMN_STRING, AT(protocol), .cell = socket_cell },
	{ "local", NULL, COLUMN_STRING, AT(local) },
	{ "remote", NULL, COLUMN_STRING, AT(remote) },
	{ "remote_pid", NULL, COLUMN_NUMBER32, AT(peer_pid) },
	{ "remote_process", "process", COLUMN_STRING, AT(peer_comm), .cell = peer_cell },
	{ "count", ">waits", COLUMN_COUNT, AT(count) },
	{ "total_ns", ">total", COLUMN_NS, AT(ns), OF(count) },
	{ "max_ns", ">max", COLUMN_NS, AT(max_ns), OF(count) },
	{ "retransmits", ">sent again", COLUMN_BAD, AT(retransmits) },
	{ "segments", ">segments", COLUMN_COUNT, AT(segments), OF(retransmits) },
};
const struct columns columns_sockets = COLUMNS("sockets", socket_columns);
#undef ROW

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
	const struct columns_with with = { .w = w, .s = s };
	const struct view *v = s->view;
	struct buf of_others = { 0 };
	bool any = print_other_requests(&of_others, v) || v->disks.n || v->files.n;

	if (any)
		view_heading(out, st, "Block I/O and files");
	columns_text(out, &columns_disks, &with, v->disks.v, v->disks.n, 0, 2, st);
	buf_add(out, of_others.p, of_others.n);
	columns_text(out, &columns_files, &with, v->files.v, v->files.n, st->top ? FILES_SHOWN : 0,
		     2, st);
	out->failed |= of_others.failed;
	buf_free(&of_others);
	return any;
}

bool view_net_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct report_text_style *st)
{
	const struct columns_with with = { .w = w, .s = s };
	const struct view *v = s->view;
	double more = 0;

	for (size_t i = 0; i < v->metrics.n; i++)
		if (v->metrics.v[i].scope == VIEW_NODE &&
		    v->metrics.v[i].metric == METRIC_TCP_OTHERS)
			more += v->metrics.v[i].grew;
	if (v->sockets.n == 0 && more <= 0)
		return false;
	view_heading(out, st, "TCP and sockets");
	columns_text(out, &columns_sockets, &with, v->sockets.v, v->sockets.n,
		     st->top ? SOCKETS_SHOWN : 0, 2, st);
	if (more > 0)
		buf_printf(out, "  %.0f segments were sent again by other processes meanwhile\n",
			   more);
	return true;
}
