/* SPDX-License-Identifier: Apache-2.0 */
/* Sums block requests by the process that issued them: the thread that waits may be another one. */
#include "lib/attrib/disk_usage.h"

#include "lib/base/hash.h"

static struct cause_disk *disk_of(struct cause_disks *d, uint32_t process, uint64_t device)
{
	uint64_t key = hash_u64((uint64_t)process << 32 ^ device), at;

	if (map_get(&d->by, key, &at))
		return &d->v.v[at];
	at = d->v.n;
	if (!vec_push(&d->v, (struct cause_disk){ .process = process, .device = device }) ||
	    !map_put(&d->by, key, at))
		return NULL;
	return &d->v.v[at];
}

bool cause_disks_event(struct cause_disks *d, const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);
	uint64_t bytes = 0, write = 0, queue = 0, device = 0;
	struct cause_disk *of;

	if (!op)
		return true;
	event_get(ev, op, COL_DEVICE, &device);
	of = disk_of(d, world_ctx_process_id(w, ev->ctx), device);
	if (!of)
		return false;
	event_get(ev, op, COL_BYTES, &bytes);
	event_get(ev, op, COL_WRITE, &write);
	event_get(ev, op, COL_QUEUE_NS, &queue);
	/* A flush moves nothing, and a discard gives room back. */
	if (write == 1) {
		of->writes++;
		of->write_bytes += bytes;
	} else if (write == 0) {
		of->reads++;
		of->read_bytes += bytes;
	}
	of->ns += ev->dur_ns;
	of->queue_ns += queue;
	return true;
}

void cause_disks_free(struct cause_disks *d)
{
	map_free(&d->by);
	vec_free(&d->v);
}
