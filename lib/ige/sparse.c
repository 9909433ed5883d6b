/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sparse columns, single ones or several with few values together; a column that cannot be
 * used leaves its values out. */
#include "lib/ige/sparse.h"

#include <string.h>

#include "lib/base/wirebytes.h"

void ige_sparse_free(struct ige_sparse *s)
{
	vec_free(&s->values);
	vec_free(&s->bits);
	vec_free(&s->plans);
	vec_free(&s->idle);
}

static int find_queue(const struct ige_sparse *s, uint16_t id)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->queue[i].id == id)
			return (int)i;
	return -1;
}

static bool put_bits(struct ige_sparse *s, struct ige_queue *q, const void *p, size_t n)
{
	if (!vec_reserve(&s->bits, n))
		return false;
	if (n)
		memcpy(s->bits.v + s->bits.n, p, n);
	q->gaps = true;
	q->bits = s->bits.n;
	q->nbits = (uint32_t)n * 8;
	s->bits.n += n;
	return true;
}

/* A column that cannot be used: *partial when it is damaged, refused when it is critical. 0: go on
 * without it. */
static int skip_column(const struct ige_directory *dir, int rc, bool *partial)
{
	if (rc == ERR_NOMEM || (rc == ERR_TOO_NEW && dir->critical))
		return rc;
	if (rc != ERR_TOO_NEW)
		*partial = true;
	return 0;
}

/* Bytes that are only ever stored, in one encoding. */
static int take_bytes(const struct ige_directory *dir, const unsigned char *data,
		      enum ige_encoding encoding, const unsigned char **p, size_t *n, struct err *e)
{
	struct buf none = { 0 };
	int rc;

	if (dir->compressor != IGE_STORED || dir->encoding != encoding)
		return err_set(e, ERR_TOO_NEW, "column %u", dir->id);
	rc = ige_column_bytes(dir, data, &none, p, n, e);
	buf_free(&none);
	return rc;
}

static int take_presence(struct ige_sparse *s, struct ige_queue *q, const struct ige_directory *dir,
			 const unsigned char *data, bool *partial, struct err *e)
{
	const unsigned char *p = NULL;
	size_t n = 0;
	int rc;

	if (q->gaps)
		return 0; /* a second one says nothing */
	rc = take_bytes(dir, data, IGE_RAW, &p, &n, e);
	if (!rc && !put_bits(s, q, p, n))
		return err_nomem(e);
	/* Without it no value can be placed. */
	q->gaps = true;
	return rc ? skip_column(dir, rc, partial) : 0;
}

/* One sparse column or its presence bits. */
static int take_column(struct ige_sparse *s, const struct world *w, const struct ige_directory *dir,
		       const unsigned char *data, uint32_t n, bool *partial, struct err *e)
{
	uint16_t id = dir->id & (uint16_t)~IGE_PRESENCE;
	struct ige_queue *q;
	int i = find_queue(s, id), rc;

	if (!world_column(w, id) || (i < 0 && s->n == IGE_SPARSE_MAX))
		return 0;
	if (i < 0) {
		i = (int)s->n++;
		s->queue[i] = (struct ige_queue){ .id = id };
	}
	q = &s->queue[i];
	if (dir->id & IGE_PRESENCE)
		return take_presence(s, q, dir, data, partial, e);
	if (q->have)
		return 0;
	if (dir->count > n)
		rc = err_set(e, ERR_DAMAGED, "column %u: %u values for %u events", id, dir->count,
			     n);
	else if (!vec_reserve(&s->values, dir->count + IGE_ROOM))
		rc = err_nomem(e);
	else
		rc = ige_column_integers(dir, data, s->values.v + s->values.n, e);
	if (rc)
		return skip_column(dir, rc, partial);
	q->have = true;
	q->at = s->values.n;
	q->end = s->values.n += dir->count;
	return 0;
}

/* The sparse columns of few values: id, count, presence (0: every row; else its highest bit ends
 * it), values. */
static int take_few(struct ige_sparse *s, const struct world *w, const struct ige_directory *dir,
		    const unsigned char *data, uint32_t n, bool *partial, struct err *e)
{
	struct cursor c = { 0 };
	size_t len;
	int rc = take_bytes(dir, data, IGE_ENTRIES, &c.p, &len, e);

	if (rc)
		return skip_column(dir, rc, partial);
	c.end = c.p + len;
	for (uint32_t i = 0; i < dir->count && c.p < c.end; i++) {
		uint64_t id = varint_get(&c), count = varint_get(&c), bits = varint_get(&c);
		struct ige_queue *q;
		unsigned char own_bits[8];

		if (c.failed || id < IGE_EXTRA || id >= IGE_PRESENCE || count > n ||
		    count > (size_t)(c.end - c.p)) {
			err_set(e, ERR_DAMAGED, "column %u: part %u is not one", dir->id, i);
			return skip_column(dir, ERR_DAMAGED, partial);
		}
		if (!vec_reserve(&s->values, count + 1))
			return err_nomem(e);
		q = s->n < IGE_SPARSE_MAX && find_queue(s, (uint16_t)id) < 0 &&
				    world_column(w, (uint16_t)id)
			    ? &s->queue[s->n++]
			    : NULL;
		if (q) {
			*q = (struct ige_queue){ .id = (uint16_t)id,
						 .have = true,
						 .at = s->values.n,
						 .end = s->values.n };
			le_put(own_bits, 8, bits);
			if (bits && !put_bits(s, q, own_bits, sizeof(own_bits)))
				return err_nomem(e);
			if (bits)
				q->nbits = 63 - (uint32_t)__builtin_clzll(bits);
		}
		for (uint64_t k = 0; k < count; k++) {
			uint64_t value = varint_get(&c);

			if (q && !c.failed)
				s->values.v[s->values.n++] = value;
		}
		if (q)
			q->end = s->values.n;
	}
	if (!c.failed)
		return 0;
	err_set(e, ERR_DAMAGED, "column %u ends inside a value", dir->id);
	return skip_column(dir, ERR_DAMAGED, partial);
}

int ige_sparse_decode(struct ige_sparse *s, const struct ige_dict_reader *dict,
		      const struct ige_view *v, bool *partial, struct err *e)
{
	struct ige_columns columns;
	struct ige_directory dir;
	const unsigned char *data;
	int rc = 0;

	s->values.n = s->bits.n = 0;
	s->n = 0;
	s->block++;
	ige_columns_begin(&columns, v);
	while (!rc && ige_columns_next(&columns, &dir, &data)) {
		if (dir.id == IGE_FEW)
			rc = take_few(s, dict->world, &dir, data, v->header.n, partial, e);
		else if (dir.id >= IGE_EXTRA)
			rc = take_column(s, dict->world, &dir, data, v->header.n, partial, e);
	}
	/* Rows find room for the plans of all ops there are. */
	if (!rc && dict->ops.n > s->plans.n) {
		if (!vec_reserve(&s->plans, dict->ops.n - s->plans.n))
			return err_nomem(e);
		memset(s->plans.v + s->plans.n, 0,
		       (dict->ops.n - s->plans.n) * sizeof(*s->plans.v));
		s->plans.n = dict->ops.n;
	}
	s->idle.n = 0;
	if (rc || !s->plans.n)
		return rc;
	if (!vec_reserve(&s->idle, s->plans.n))
		return err_nomem(e);
	s->idle.n = s->plans.n;
	memset(s->idle.v, s->n == 0, s->idle.n * sizeof(*s->idle.v));
	return 0;
}

const struct ige_plan *ige_sparse_find_plan(struct ige_sparse *s,
					    const struct ige_dict_reader *dict, uint32_t layout)
{
	const struct ige_file_op *op = &dict->ops.v[layout];
	struct ige_plan *p = &s->plans.v[layout];

	p->block = s->block;
	p->n = 0;
	for (unsigned k = 0; k < op->ncols; k++) {
		int q = find_queue(s, op->cols[k]);

		if (q < 0)
			continue;
		p->take[p->n].queue = (uint8_t)q;
		p->take[p->n].column = (uint8_t)k;
		p->take[p->n].to = op->to[k];
		p->take[p->n++].kind = op->kind[k];
	}
	s->idle.v[layout] = p->n == 0;
	return p;
}
