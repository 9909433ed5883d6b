/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects events as rows of an open EVENTS block. A sparse column has a value for each row whose
 * op lists it, except where its presence bits say otherwise; columns whose values stand in the site
 * are not repeated.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/events.h"

void ige_rows_init(struct ige_rows *r, struct ige_dict_writer *dict)
{
	memset(r, 0, sizeof(*r));
	r->dict = dict;
}

void ige_rows_free(struct ige_rows *r)
{
	free(r->values);
	for (size_t i = 0; i < r->extras.n; i++) {
		vec_free(&r->extras.v[i].values);
		vec_free(&r->extras.v[i].eligible);
	}
	vec_free(&r->extras);
	vec_free(&r->order);
}

bool ige_rows_room(struct ige_rows *r, size_t n)
{
	size_t cap = n < 2 * r->cap ? 2 * r->cap : n < 64 ? 64 : n, at = 0;
	uint64_t *values;

	if (n <= r->cap)
		return true;
	values = calloc(IGE_APART(IGE_DEPTH + 1) + (IGE_DEPTH + 1) * cap, sizeof(*values));
	if (!values)
		return false;
	for (int i = IGE_END; i <= IGE_DEPTH; i++, at += cap + IGE_APART(1)) {
		if (r->n)
			memcpy(values + at, r->column[i], r->n * sizeof(*values));
		r->column[i] = values + at;
	}
	free(r->values);
	r->values = values;
	r->cap = cap;
	return true;
}

static struct ige_extra *find_extra(struct ige_rows *r, uint16_t id)
{
	uint8_t *hint = &r->extra_at[id % IGE_EXTRA_HINTS];

	if (*hint < r->extras.n && r->extras.v[*hint].id == id)
		return &r->extras.v[*hint];
	for (size_t i = 0; i < r->extras.n; i++)
		if (r->extras.v[i].id == id) {
			*hint = (uint8_t)i;
			return &r->extras.v[i];
		}
	return vec_push(&r->extras, (struct ige_extra){ .id = id }) ? &r->extras.v[r->extras.n - 1]
								    : NULL;
}

/* The columns that do not stand in the site. */
static bool add_extras(struct ige_rows *r, const struct event *ev, const struct op_def *def,
		       uint32_t left)
{
	for (; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		struct ige_extra *x = find_extra(r, def->cols[i]);
		bool there = ev->present >> i & 1;

		if (!x || !vec_push(&x->eligible, there))
			return false;
		if (there) {
			const struct column_def *column =
				world_column(r->dict->world, def->cols[i]);
			int kind = column ? world_kind_of_role(column->role) : -1;
			uint64_t value = ev->x[i];

			if (kind >= 0)
				value = ige_dict_id(r->dict, (enum world_kind)kind,
						    (uint32_t)value);
			if (!vec_push(&x->values, value))
				return false;
			r->bytes += 9;
		} else {
			x->gaps = true;
			r->bytes++;
		}
	}
	return true;
}

bool ige_rows_add(struct ige_rows *r, const struct event *ev, const struct ige_written_op *op)
{
	uint32_t args, site = ige_dict_site(r->dict, ev, op, &args),
		       ctx = ige_dict_id(r->dict, WORLD_CTX, ev->ctx);
	int64_t start = event_start(ev);
	size_t n = r->n;

	if (!ige_rows_room(r, n + 1))
		return false;
	if (!add_extras(r, ev, op->def, ((1u << op->def->ncols) - 1) & ~args))
		return false;
	r->column[IGE_END][n] = (uint64_t)ev->end_ns;
	r->column[IGE_DUR][n] = ev->dur_ns;
	r->column[IGE_CTX][n] = ctx;
	r->column[IGE_SITE][n] = site;
	r->column[IGE_DEPTH][n] = ev->depth;
	r->bytes += IGE_ROW_BYTES;
	if (!n || ev->end_ns < r->end_min)
		r->end_min = ev->end_ns;
	if (!n || ev->end_ns > r->end_max)
		r->end_max = ev->end_ns;
	if (!n || start < r->start_min)
		r->start_min = start;
	r->n = n + 1;
	return !r->dict->failed;
}

static void put_presence(struct ige_builder *b, const struct ige_extra *x)
{
	struct ige_directory d = { .id = x->id | IGE_PRESENCE, .encoding = IGE_RAW, .width = 1 };
	size_t bytes = (x->eligible.n + 7) / 8;
	unsigned char *bits = calloc(1, bytes);

	if (!bits) {
		b->data.failed = true;
		return;
	}
	for (size_t i = 0; i < x->eligible.n; i++)
		bits[i / 8] |= (unsigned char)(x->eligible.v[i] << i % 8);
	d.count = (uint32_t)bytes;
	ige_builder_column(b, d, bits, bytes);
	free(bits);
}

/* A column of its own costs 16 bytes of directory: what rare ops leave in a block travels together.
 */
#define FEW 8

static bool is_few(const struct ige_extra *x)
{
	return x->values.n <= FEW && x->eligible.n <= FEW;
}

static void put_few(struct ige_rows *r, struct ige_builder *b)
{
	struct ige_directory d = { .id = IGE_FEW, .encoding = IGE_ENTRIES, .width = 1 };

	buf_reset(&b->packed);
	for (size_t i = 0; i < r->extras.n; i++) {
		const struct ige_extra *x = &r->extras.v[i];
		uint64_t bits = 0;

		if (!x->values.n || !is_few(x))
			continue;
		for (size_t k = 0; k < x->eligible.n; k++)
			bits |= (uint64_t)x->eligible.v[k] << k;
		varint_put(&b->packed, x->id);
		varint_put(&b->packed, x->values.n);
		/* One bit more than there are rows, so that every row stands in the number. */
		varint_put(&b->packed, x->gaps ? bits | 1ull << x->eligible.n : 0);
		for (size_t k = 0; k < x->values.n; k++)
			varint_put(&b->packed, x->values.v[k]);
		d.count++;
	}
	if (b->packed.failed)
		b->data.failed = true;
	else if (d.count)
		ige_builder_column(b, d, b->packed.p, b->packed.n);
}

void ige_rows_clear(struct ige_rows *r)
{
	for (size_t i = 0; i < r->extras.n; i++) {
		r->extras.v[i].values.n = r->extras.v[i].eligible.n = 0;
		r->extras.v[i].gaps = false;
	}
	r->n = r->bytes = r->order.n = 0;
	r->grouped = false;
}

void ige_rows_head(const struct ige_rows *r, struct ige_header *h)
{
	h->n = (uint32_t)r->n;
	if (!r->n)
		return;
	h->end_min = r->end_min;
	h->end_max = r->end_max;
	h->start_min = r->start_min;
	if (r->grouped)
		h->flags |= IGE_GROUPED | IGE_CRITICAL;
}

int ige_rows_seal_extras(struct ige_rows *r, struct ige_builder *b, struct ige_header *h,
			 struct buf *out, struct err *e)
{
	int rc;

	put_few(r, b);
	for (size_t i = 0; i < r->extras.n; i++) {
		struct ige_extra *x = &r->extras.v[i];

		/* Without a value in the whole block a column is left out. */
		if (!x->values.n || is_few(x))
			continue;
		if (x->gaps)
			put_presence(b, x);
		ige_builder_integers(b, x->id, x->values.v, x->values.n);
	}
	rc = ige_builder_seal(b, h, out, e);
	ige_builder_reset(b);
	ige_rows_clear(r);
	return rc;
}

int ige_rows_seal(struct ige_rows *r, struct ige_builder *b, struct ige_worker_pool *team,
		  struct ige_header *h, struct buf *out, struct err *e)
{
	struct ige_integers own[IGE_WORKER_POOL_COLUMNS];
	unsigned nown = 0;

	ige_rows_head(r, h);
	for (size_t i = 0; i < r->n; i++)
		r->column[IGE_END][i] -= (uint64_t)r->end_min;
	for (uint16_t id = IGE_END; id <= IGE_DEPTH && r->n; id++)
		own[nown++] = (struct ige_integers){ id, r->column[id], r->n };
	if (r->order.n)
		own[nown++] = (struct ige_integers){ IGE_ORDER, r->order.v, r->n };
	ige_worker_pool_integers(team, b, own, nown);
	return ige_rows_seal_extras(r, b, h, out, e);
}
