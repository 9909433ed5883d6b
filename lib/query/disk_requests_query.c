/* SPDX-License-Identifier: Apache-2.0 */
/* Machines have few devices: they are looked for one after the other. */
#include "lib/query/sections_internal.h"

#define DISKS_MAX      1024
#define DISK_FILES_MAX 65536
#define FILES_TOLD     64

static bool count_request(struct query_disks *d, const struct world *w, const struct event *ev,
			  const struct op_def *op)
{
	const struct world_ctx *c = world_get_ctx(w, ev->ctx);
	struct query_disk new = { .row.node = c ? c->node : 0 };
	uint64_t way = 0, bytes = 0, queue_ns = 0;
	struct query_disk *disk;
	size_t i = 0;
	bool queued;

	event_get(ev, op, COL_DEVICE, &new.row.device);
	event_get(ev, op, COL_WRITE, &way);
	event_get(ev, op, COL_BYTES, &bytes);
	queued = event_get(ev, op, COL_QUEUE_NS, &queue_ns);
	new.row.way = way < UINT32_MAX ? (unsigned)way : UINT32_MAX;
	while (i < d->disks.n &&
	       (d->disks.v[i].row.node != new.row.node ||
		d->disks.v[i].row.device != new.row.device || d->disks.v[i].row.way != new.row.way))
		i++;
	if (i == d->disks.n && (i >= DISKS_MAX || !vec_push(&d->disks, new)))
		return i >= DISKS_MAX;
	disk = &d->disks.v[i];
	queue_ns = queue_ns < ev->dur_ns ? queue_ns : ev->dur_ns;
	disk->row.count++;
	disk->row.bytes += bytes;
	disk->row.queued += queued;
	disk->row.queue_ns += queued ? queue_ns : 0;
	disk->row.device_ns += queued ? ev->dur_ns - queue_ns : 0;
	return sketch_add(&disk->durations, ev->dur_ns);
}

static bool count_file(struct query_disks *d, const struct event *ev, const struct op_def *op)
{
	struct query_disk_file new = { 0 }, *f;
	uint64_t at;

	if (!event_get(ev, op, COL_FILE, &new.id))
		return true;
	if (!map_get(&d->file_by, new.id, &at)) {
		if (d->files.n >= DISK_FILES_MAX)
			return true;
		at = d->files.n;
		if (!vec_push(&d->files, new) || !map_put(&d->file_by, new.id, at))
			return false;
	}
	f = &d->files.v[at];
	f->count++;
	f->ns += ev->dur_ns;
	f->max_ns = ev->dur_ns > f->max_ns ? ev->dur_ns : f->max_ns;
	return true;
}

bool query_disks_event(struct query_disks *d, const struct world *w, const struct event *ev,
		       const struct op_def *op)
{
	if (ev->op == OP_IO_BLOCK)
		return count_request(d, w, ev, op);
	return ev->op != OP_IO_FILE || count_file(d, ev, op);
}

static int disk_order(const void *a, const void *b)
{
	const struct view_disk *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->way > y->way) - (x->way < y->way);
}

static int file_order(const void *a, const void *b)
{
	const struct view_file *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->path > y->path) - (x->path < y->path);
}

bool query_disks_rows(const struct query_disks *d, const struct world *w,
		      const struct late_names *late_names, struct view *v)
{
	v->disks.n = v->files.n = 0;
	for (size_t i = 0; i < d->disks.n; i++) {
		const struct late_names_file on =
			late_names_on(late_names, w, d->disks.v[i].row.device);
		const struct sketch *k = &d->disks.v[i].durations;
		struct view_disk row = d->disks.v[i].row;

		row.p50_ns = sketch_quantile(k, 0.50);
		row.p99_ns = sketch_quantile(k, 0.99);
		row.max_ns = k->max;
		row.origin = on.origin;
		row.mount = on.mount;
		if (!vec_push(&v->disks, row))
			return false;
	}
	for (size_t i = 0; i < d->files.n; i++) {
		const struct query_disk_file *f = &d->files.v[i];
		const struct late_names_file *t = late_names_file(late_names, f->id);
		struct view_file row = { .count = f->count, .ns = f->ns, .max_ns = f->max_ns };

		if (t) {
			row.path = t->path;
			row.fstype = t->fstype;
			row.mount = t->mount;
			row.origin = t->origin;
		}
		if (!vec_push(&v->files, row))
			return false;
	}
	if (v->disks.n)
		qsort(v->disks.v, v->disks.n, sizeof(*v->disks.v), disk_order);
	if (v->files.n)
		qsort(v->files.v, v->files.n, sizeof(*v->files.v), file_order);
	v->files.n = v->files.n < FILES_TOLD ? v->files.n : FILES_TOLD;
	return true;
}

void query_disks_free(struct query_disks *d)
{
	for (size_t i = 0; i < d->disks.n; i++)
		sketch_free(&d->disks.v[i].durations);
	vec_free(&d->disks);
	vec_free(&d->files);
	map_free(&d->file_by);
}
