/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EVENTS blocks back to events. Columns are decoded whole, then rows are put together: each sparse
 * column is a queue that rows whose op lists it take their next value from.
 */
#include <string.h>

#include "lib/ige/events.h"

/* Where a sparse column's values lie in decoder->values, and how far rows have taken them. */
struct queue {
	uint16_t id;
	const unsigned char *bits; /* presence, NULL: every row */
	uint32_t nbits, bit;
	size_t at, end;
	int kind; /* world kind its values refer to, -1: plain numbers */
};

void ige_decoder_free(struct ige_decoder *d)
{
	vec_free(&d->values);
	vec_free(&d->events);
}

/* Decode one integer column to the end of values; *at its place. */
static int decode_column(struct ige_decoder *d, const struct ige_directory *dir,
			 const unsigned char *data, size_t *at, struct err *e)
{
	int rc;

	if (dir->count > IGE_EVENTS_MAX)
		return err_set(e, ERR_DAMAGED, "column %u: %u values", dir->id, dir->count);
	if (!vec_reserve(&d->values, dir->count + 1))
		return err_nomem(e);
	*at = d->values.n;
	rc = ige_column_integers(dir, data, d->values.v + *at, e);
	if (!rc)
		d->values.n += dir->count;
	return rc;
}

static struct queue *find_queue(struct queue *q, unsigned n, uint16_t id)
{
	for (unsigned i = 0; i < n; i++)
		if (q[i].id == id)
			return &q[i];
	return NULL;
}

static bool queue_take(struct queue *q, const uint64_t *values, uint64_t *value)
{
	if (q->bits) {
		uint32_t bit = q->bit++;

		if (bit >= q->nbits || !(q->bits[bit / 8] >> bit % 8 & 1))
			return false;
	}
	if (q->at == q->end)
		return false;
	*value = values[q->at++];
	return true;
}

#define QUEUES_MAX 128 /* sparse columns of one block; more are passed by */

int ige_decode_events(struct ige_decoder *d, const struct ige_view *v, bool *partial, struct err *e)
{
	size_t own[IGE_EXTRA] = { 0 };
	bool have[IGE_EXTRA] = { false };
	struct queue queues[QUEUES_MAX];
	unsigned nqueues = 0;
	uint32_t n = v->header.n;
	struct world *w = d->dict->world;

	d->values.n = 0;
	d->events.n = 0;
	*partial = false;
	for (unsigned i = 0; i < v->header.ncol; i++) {
		struct ige_directory dir;
		const unsigned char *data;
		size_t at;
		int rc;

		ige_view_column(v, i, &dir, &data);
		if (dir.id < IGE_EXTRA) {
			if (dir.id == 0 || dir.id > IGE_DEPTH) {
				if (dir.critical)
					return err_set(e, ERR_TOO_NEW, "column %u", dir.id);
				d->unknown_columns++;
				continue;
			}
			if (dir.count != n)
				return err_set(e, ERR_DAMAGED, "column %u: %u values for %u events",
					       dir.id, dir.count, n);
			rc = decode_column(d, &dir, data, &at, e);
			if (rc)
				return rc;
			own[dir.id] = at;
			have[dir.id] = true;
			continue;
		}
		if (!world_column(w, dir.id & ~IGE_PRESENCE)) {
			if (dir.critical)
				return err_set(e, ERR_TOO_NEW, "column %u", dir.id);
			d->unknown_columns++;
			continue;
		}
		if (nqueues == QUEUES_MAX)
			continue;
		{
			uint16_t id = dir.id & (uint16_t)~IGE_PRESENCE;
			struct queue *q = find_queue(queues, nqueues, id);

			if (!q) {
				q = &queues[nqueues++];
				*q = (struct queue){
					.id = id, .kind = ige_role_kind(world_column(w, id)->role)
				};
			}
			if (dir.id & IGE_PRESENCE) {
				struct buf none = { 0 };
				const unsigned char *p;
				size_t len;

				rc = ige_column_bytes(&dir, data, &none, &p, &len, e);
				buf_free(&none);
				if (rc || dir.compressor != IGE_STORED) {
					/* Without it no value can be placed. */
					q->bits = (const unsigned char *)"";
					q->nbits = 0;
					*partial = true;
					continue;
				}
				q->bits = p;
				q->nbits = (uint32_t)len * 8;
				continue;
			}
			rc = decode_column(d, &dir, data, &at, e);
			if (rc == ERR_NOMEM)
				return rc;
			if (rc) {
				*partial = true;
				continue;
			}
			q->at = at;
			q->end = at + dir.count;
		}
	}
	if (n == 0)
		return 0;
	for (uint16_t id = IGE_END; id <= IGE_SITE; id++)
		if (!have[id])
			return err_set(e, ERR_DAMAGED, "events without column %u", id);
	if (!vec_reserve(&d->events, n))
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t *values = d->values.v;
		const struct ige_site *site = ige_dict_get_site(d->dict, values[own[IGE_SITE] + i]);
		struct event *ev = &d->events.v[d->events.n];
		const struct ige_file_op *op;

		memset(ev, 0, sizeof(*ev));
		ev->end_ns = (int64_t)((uint64_t)v->header.end_min + values[own[IGE_END] + i]);
		ev->dur_ns = values[own[IGE_DUR] + i];
		ev->ctx = ige_dict_world_id(d->dict, WORLD_CTX, values[own[IGE_CTX] + i]);
		if (have[IGE_DEPTH])
			ev->depth = (uint16_t)values[own[IGE_DEPTH] + i];
		if (!site) {
			/* Its definition was lost, and with it which values are its own: what follows in
			 * the sparse columns cannot be placed. The event itself is dropped, and counted. */
			*partial = true;
			nqueues = 0;
			continue;
		}
		ev->op = site->op;
		ev->ret = site->ret;
		ev->stack = site->stack;
		d->events.n++;
		if (site->args) {
			ev->present = site->present;
			memcpy(ev->x, site->x, sizeof(ev->x));
			continue;
		}
		op = ige_dict_op(d->dict, site->op);
		for (unsigned k = 0; op && k < op->ncols; k++) {
			struct queue *q = find_queue(queues, nqueues, op->cols[k]);
			uint64_t value;

			if (!q || !queue_take(q, values, &value) || op->to[k] < 0)
				continue;
			if (q->kind >= 0)
				value = ige_dict_world_id(d->dict, (enum world_kind)q->kind, value);
			ev->x[op->to[k]] = value;
			ev->present |= 1u << op->to[k];
		}
	}
	return 0;
}
