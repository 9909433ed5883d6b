/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EVENTS blocks back to events. Columns are decoded whole, then rows are put together: each sparse
 * column is a queue that rows whose op lists it take their next value from.
 */
#include <string.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/events.h"
#include "lib/ige/order.h"

/* Where a sparse column's values lie in decoder->values, and how far rows have taken them. */
struct queue {
	uint16_t id;
	bool have;		   /* its values were met */
	const unsigned char *bits; /* presence, NULL: every row */
	uint32_t nbits, bit;
	size_t at, end;
	unsigned char own_bits[8]; /* of a column that came among the few */
};

#define QUEUES_MAX 64 /* sparse columns of one block; more are passed by */

struct queues {
	struct queue v[QUEUES_MAX];
	unsigned n;
};

void ige_decoder_free(struct ige_decoder *d)
{
	vec_free(&d->values);
	vec_free(&d->events);
	vec_free(&d->plans);
	vec_free(&d->at);
	vec_free(&d->place);
}

/* Decode one integer column to the end of values; *at its place. */
static int decode_column(struct ige_decoder *d, const struct ige_directory *dir,
			 const unsigned char *data, size_t *at, struct err *e)
{
	int rc;

	if (dir->count > IGE_EVENTS_MAX)
		return err_set(e, ERR_DAMAGED, "column %u: %u values", dir->id, dir->count);
	if (!vec_reserve(&d->values, dir->count + IGE_ROOM))
		return err_nomem(e);
	*at = d->values.n;
	rc = ige_column_integers(dir, data, d->values.v + *at, e);
	if (!rc)
		d->values.n += dir->count;
	return rc;
}

static int find_queue(const struct queues *q, uint16_t id)
{
	for (unsigned i = 0; i < q->n; i++)
		if (q->v[i].id == id)
			return (int)i;
	return -1;
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

/* A column that cannot be used: *partial when it is damaged, refused when it is critical. 0: go on without it. */
static int without(struct ige_decoder *d, const struct ige_directory *dir, int rc, bool *partial)
{
	if (rc == ERR_NOMEM || (rc == ERR_TOO_NEW && dir->critical))
		return rc;
	if (rc == ERR_TOO_NEW)
		d->unknown_columns++;
	else
		*partial = true;
	return 0;
}

/* One sparse column or its presence bits. */
static int take_sparse(struct ige_decoder *d, struct queues *queues,
		       const struct ige_directory *dir, const unsigned char *data, uint32_t n,
		       bool *partial, struct err *e)
{
	uint16_t id = dir->id & (uint16_t)~IGE_PRESENCE;
	struct queue *q;
	int i = find_queue(queues, id), rc;
	size_t at;

	if (!world_column(d->dict->world, id) || (i < 0 && queues->n == QUEUES_MAX)) {
		d->unknown_columns++;
		return 0;
	}
	if (i < 0) {
		i = (int)queues->n++;
		queues->v[i] = (struct queue){ .id = id };
	}
	q = &queues->v[i];
	if (dir->id & IGE_PRESENCE) {
		struct buf none = { 0 };
		size_t len = 0;

		if (q->bits)
			return 0; /* a second one says nothing */
		rc = dir->compressor == IGE_STORED && dir->encoding == IGE_RAW
			     ? ige_column_bytes(dir, data, &none, &q->bits, &len, e)
			     : ERR_TOO_NEW;
		buf_free(&none);
		q->nbits = (uint32_t)len * 8;
		if (!rc)
			return 0;
		/* Without it no value can be placed. */
		q->bits = (const unsigned char *)"";
		q->nbits = 0;
		return without(d, dir, rc, partial);
	}
	if (q->have)
		return 0;
	if (dir->count > n)
		rc = err_set(e, ERR_DAMAGED, "column %u: %u values for %u events", id, dir->count,
			     n);
	else
		rc = decode_column(d, dir, data, &at, e);
	if (rc)
		return without(d, dir, rc, partial);
	q->have = true;
	q->at = at;
	q->end = at + dir->count;
	return 0;
}

/* The sparse columns of few values: id, count, presence (0: every row; else its highest bit ends it), values. */
static int take_few(struct ige_decoder *d, struct queues *queues, const struct ige_directory *dir,
		    const unsigned char *data, uint32_t n, bool *partial, struct err *e)
{
	struct buf none = { 0 };
	struct cursor c = { 0 };
	size_t len;
	int rc = dir->compressor == IGE_STORED && dir->encoding == IGE_ENTRIES
			 ? ige_column_bytes(dir, data, &none, &c.p, &len, e)
			 : ERR_TOO_NEW;

	buf_free(&none);
	if (rc)
		return without(d, dir, rc, partial);
	c.end = c.p + len;
	for (uint32_t i = 0; i < dir->count && c.p < c.end; i++) {
		uint64_t id = varint_get(&c), count = varint_get(&c), bits = varint_get(&c);
		struct queue *q;

		if (c.failed || id < IGE_EXTRA || id >= IGE_PRESENCE || count > n ||
		    count > (size_t)(c.end - c.p)) {
			err_set(e, ERR_DAMAGED, "column %u: part %u is not one", dir->id, i);
			return without(d, dir, ERR_DAMAGED, partial);
		}
		if (!vec_reserve(&d->values, count + 1))
			return err_nomem(e);
		q = queues->n < QUEUES_MAX && find_queue(queues, (uint16_t)id) < 0 &&
				    world_column(d->dict->world, (uint16_t)id)
			    ? &queues->v[queues->n++]
			    : NULL;
		if (q) {
			*q = (struct queue){ .id = (uint16_t)id,
					     .have = true,
					     .at = d->values.n,
					     .end = d->values.n };
			if (bits) {
				q->nbits = 63 - (uint32_t)__builtin_clzll(bits);
				le_put(q->own_bits, 8, bits);
				q->bits = q->own_bits;
			}
		} else {
			d->unknown_columns++;
		}
		for (uint64_t k = 0; k < count; k++) {
			uint64_t value = varint_get(&c);

			if (q && !c.failed)
				d->values.v[d->values.n++] = value;
		}
		if (q)
			q->end = d->values.n;
	}
	if (!c.failed)
		return 0;
	err_set(e, ERR_DAMAGED, "column %u ends inside a value", dir->id);
	return without(d, dir, ERR_DAMAGED, partial);
}

/* Which queue each column of an op takes from: looked up at the op's first event in the block. */
static bool plan_of(struct ige_decoder *d, const struct queues *queues, uint32_t layout,
		    const struct ige_plan **plan)
{
	const struct ige_file_op *op = &d->dict->ops.v[layout];
	struct ige_plan *p;

	while (d->plans.n <= layout)
		if (!vec_push(&d->plans, (struct ige_plan){ 0 }))
			return false;
	p = &d->plans.v[layout];
	*plan = p;
	if (p->block == d->block)
		return true;
	p->block = d->block;
	p->n = 0;
	for (unsigned k = 0; k < op->ncols; k++) {
		int q = find_queue(queues, op->cols[k]);

		if (q < 0)
			continue;
		p->take[p->n].queue = (uint8_t)q;
		p->take[p->n].column = (uint8_t)k;
		p->take[p->n].to = op->to[k];
		p->take[p->n++].kind = op->kind[k];
	}
	return true;
}

#define AHEAD 8

/* Sites and their arguments lie all over memory, but which ones come is known. */
static inline void fetch_ahead(const struct ige_dict_reader *d, const uint64_t *sites, uint32_t i,
			       uint32_t n)
{
	if (i + 2 * AHEAD < n && sites[i + 2 * AHEAD] < d->sites.n)
		__builtin_prefetch(&d->sites.v[sites[i + 2 * AHEAD]]);
	if (i + AHEAD < n && sites[i + AHEAD] < d->sites.n) {
		const struct ige_read_site *s = &d->sites.v[sites[i + AHEAD]];

		if (s->nargs)
			__builtin_prefetch(&d->args.v[s->at]);
	}
}

/* Which event each row of a grouped block is: by end, then by what the block says, then by place. */
static const uint32_t *find_places(struct ige_decoder *d, uint32_t n,
				   const uint64_t *const own[IGE_EXTRA])
{
	if (!vec_reserve(&d->at, n) || !vec_reserve(&d->place, n))
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		d->at.v[i] = i;
	if (own[IGE_ORDER])
		ige_order_by(d->at.v, d->place.v, n, own[IGE_ORDER]);
	ige_order_by(d->at.v, d->place.v, n, own[IGE_END]);
	for (uint32_t i = 0; i < n; i++)
		d->place.v[d->at.v[i]] = i;
	return d->place.v;
}

/* Events of rows that were dropped leave holes. */
static void close_up(struct ige_decoder *d, uint32_t n)
{
	d->events.n = 0;
	for (uint32_t i = 0; i < n; i++)
		if (d->events.v[i].op)
			d->events.v[d->events.n++] = d->events.v[i];
}

static void pass_values(const struct ige_plan *plan, uint16_t args, struct queues *queues,
			const uint64_t *values)
{
	uint64_t value;

	for (unsigned k = 0; k < plan->n; k++)
		if (!(args >> plan->take[k].column & 1))
			queue_take(&queues->v[plan->take[k].queue], values, &value);
}

/* places: of grouped rows, else NULL. */
static int put_rows(struct ige_decoder *d, const struct ige_header *h,
		    const uint64_t *const own[IGE_EXTRA], const uint32_t *places,
		    struct queues *queues, bool *partial, struct err *e)
{
	const uint64_t *values = d->values.v;
	uint64_t span = (uint64_t)h->end_max - (uint64_t)h->end_min;
	bool placed = true; /* sparse values still lie in front of the rows they belong to */

	for (uint32_t i = 0; i < h->n; i++) {
		const struct ige_read_site *site = ige_dict_get_site(d->dict, own[IGE_SITE][i]);
		struct event *ev = &d->events.v[places ? places[i] : d->events.n];
		const struct ige_plan *plan;

		fetch_ahead(d->dict, own[IGE_SITE], i, h->n);
		if (own[IGE_END][i] > span || own[IGE_DUR][i] >= (uint64_t)IGE_TIME_MAX ||
		    h->end_min + (int64_t)own[IGE_END][i] - (int64_t)own[IGE_DUR][i] < h->start_min)
			return err_set(e, ERR_DAMAGED, "event %u lies outside its block's times",
				       i);
		if (!site) {
			/* Its definition was lost, and with it which values are its own: what follows in
			 * the sparse columns cannot be placed. The event itself is dropped, and counted. */
			*partial = true;
			placed = false;
			ev->op = 0;
			continue;
		}
		if (d->window &&
		    (h->end_min + (int64_t)own[IGE_END][i] < d->window[0] ||
		     h->end_min + (int64_t)own[IGE_END][i] - (int64_t)own[IGE_DUR][i] >=
			     d->window[1])) {
			/* Nobody asked for it, but its values stand in front of those of the next. */
			d->passed++;
			if (places)
				ev->op = 0;
			if (site->whole || !placed || !queues->n)
				continue;
			if (!plan_of(d, queues, site->layout, &plan))
				return err_nomem(e);
			pass_values(plan, site->args, queues, values);
			continue;
		}
		/* In two parts: for larger ones the compiler takes a string instruction, which is slow to start. */
		memset(ev->x, 0, sizeof(ev->x) / 2);
		memset(ev->x + OP_COLUMNS_MAX / 2, 0, sizeof(ev->x) / 2);
		ev->present = ev->pad = 0;
		ev->depth = 0;
		ev->end_ns = h->end_min + (int64_t)own[IGE_END][i];
		ev->dur_ns = own[IGE_DUR][i];
		ev->ctx = ige_dict_world_id(d->dict, WORLD_CTX, own[IGE_CTX][i]);
		if (own[IGE_DEPTH])
			ev->depth = (uint16_t)own[IGE_DEPTH][i];
		ev->op = site->op;
		ev->ret = site->ret;
		ev->stack = site->stack;
		d->events.n++;
		ev->present = site->present;
		for (unsigned k = 0; k < site->nargs; k++)
			ev->x[k] = d->dict->args.v[site->at + k];
		if (site->whole || !placed || !queues->n)
			continue;
		if (!plan_of(d, queues, site->layout, &plan))
			return err_nomem(e);
		for (unsigned k = 0; k < plan->n; k++) {
			int to = plan->take[k].to, kind = plan->take[k].kind;
			uint64_t value;

			if (site->args >> plan->take[k].column & 1)
				continue;
			if (!queue_take(&queues->v[plan->take[k].queue], values, &value) || to < 0)
				continue;
			if (kind >= 0)
				value = ige_dict_world_id(d->dict, (enum world_kind)kind, value);
			ev->x[to] = value;
			ev->present |= 1u << to;
		}
	}
	if (places && d->events.n < h->n)
		close_up(d, h->n);
	return 0;
}

int ige_decode_events(struct ige_decoder *d, const struct ige_view *v, bool *partial, struct err *e)
{
	size_t at[IGE_EXTRA] = { 0 };
	bool have[IGE_EXTRA] = { false };
	const uint64_t *own[IGE_EXTRA] = { NULL };
	const uint32_t *places = NULL;
	struct queues queues = { .n = 0 };
	struct ige_columns columns;
	struct ige_directory dir;
	const unsigned char *data;
	uint32_t n = v->header.n;
	int rc;

	d->values.n = 0;
	d->events.n = 0;
	d->passed = 0;
	d->block++;
	*partial = false;
	ige_columns_begin(&columns, v);
	while (ige_columns_next(&columns, &dir, &data)) {
		uint16_t id = dir.id & (uint16_t)~IGE_PRESENCE;
		bool known = id > 0 && (id <= IGE_ORDER || column_builtin(id));

		if (dir.critical && !known)
			return err_set(e, ERR_TOO_NEW, "column %u", id);
		if (dir.id >= IGE_EXTRA || dir.id == IGE_FEW) {
			rc = dir.id == IGE_FEW ? take_few(d, &queues, &dir, data, n, partial, e)
					       : take_sparse(d, &queues, &dir, data, n, partial, e);
			if (rc)
				return rc;
			continue;
		}
		if (!known || have[dir.id]) {
			d->unknown_columns++;
			continue;
		}
		if (dir.count != n)
			return err_set(e, ERR_DAMAGED, "column %u: %u values for %u events", dir.id,
				       dir.count, n);
		rc = decode_column(d, &dir, data, &at[dir.id], e);
		/* Without one of its own columns a block is of no use to this program. */
		if (rc == ERR_TOO_NEW && !dir.critical)
			rc = ERR_CANNOT;
		if (rc)
			return rc;
		have[dir.id] = true;
	}
	if (n == 0)
		return 0;
	if (v->header.end_min == INT64_MIN || v->header.start_min == INT64_MIN)
		return err_set(e, ERR_DAMAGED, "events without times");
	for (uint16_t id = IGE_END; id <= IGE_ORDER; id++) {
		if (have[id])
			own[id] = d->values.v + at[id];
		else if (id < IGE_DEPTH)
			return err_set(e, ERR_DAMAGED, "events without column %u", id);
	}
	if (!vec_reserve(&d->events, n))
		return err_nomem(e);
	if (v->header.flags & IGE_GROUPED) {
		places = find_places(d, n, own);
		if (!places)
			return err_nomem(e);
	}
	rc = put_rows(d, &v->header, own, places, &queues, partial, e);
	if (rc)
		d->events.n = 0;
	return rc;
}
