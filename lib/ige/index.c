/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects and writes the index of a segment. Rows are taken from the bytes of blocks as they are
 * written, so that exactly these blocks are indexed.
 */
#include "lib/ige/index.h"

#include <string.h>

#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"

/* Columns of an INDEX block; numbers are for ever. */
enum {
	X_LENGTH = 1,
	X_TYPE = 2, /* type | flags << 8 */
	X_N = 3,
	X_LOST = 4,
	X_END_MIN = 5, /* times: zigzag */
	X_END_MAX = 6,
	X_START_MIN = 7,
	X_OPS = 8,
	X_COLUMNS = 9,
};
#define T_PLACES      1 /* column of a TRAILER block */
#define T_PLACES_EACH 3

bool ige_index_add(struct ige_index *x, const void *p, size_t n, uint64_t ops)
{
	const unsigned char *at = p, *end = at + n;

	if (n == IGE_SEGMENT_BYTES && memcmp(p, IGE_SEGMENT_MAGIC, 8) == 0) {
		x->rows.n = 0;
		x->offset = n;
		return true;
	}
	while (end - at >= IGE_BLOCK_BYTES) {
		struct ige_header h;
		struct ige_index_row row;

		if (ige_header_unpack(&h, at, NULL))
			return true; /* not a block of ours; the rows will not fit the file */
		row = (struct ige_index_row){ .offset = x->offset,
					      .length = h.length,
					      .n = h.n,
					      .lost = h.lost,
					      .type = h.type,
					      .flags = h.flags,
					      .end_min = h.end_min,
					      .end_max = h.end_max,
					      .start_min = h.start_min,
					      .ops = h.type == IGE_EVENTS && h.n ? ops : 0 };
		if (!vec_push(&x->rows, row))
			return false;
		x->offset += h.length;
		at += h.length;
	}
	return true;
}

static uint64_t value_of(const struct ige_index_row *r, unsigned column)
{
	switch (column) {
	case X_LENGTH:
		return r->length;
	case X_TYPE:
		return r->type | (uint64_t)r->flags << 8;
	case X_N:
		return r->n;
	case X_LOST:
		return r->lost;
	case X_END_MIN:
		return zigzag(r->end_min);
	case X_END_MAX:
		return zigzag(r->end_max);
	case X_START_MIN:
		return zigzag(r->start_min);
	default:
		return r->ops;
	}
}

int ige_index_seal(struct ige_index *x, struct ige_builder *b, uint64_t *seq, struct buf *out,
		   struct err *e)
{
	struct ige_header h = { .type = IGE_INDEX,
				.end_min = INT64_MIN,
				.end_max = INT64_MIN,
				.start_min = INT64_MIN,
				.start_floor_us = IGE_FLOOR_UNKNOWN };
	unsigned char places[8 * T_PLACES_EACH];
	int64_t smallest = INT64_MAX;
	size_t before = out->n;
	VEC(uint64_t) values = { 0 };
	int rc;

	if (!vec_reserve(&values, x->rows.n + 1))
		return err_nomem(e);
	/* Of other blocks' times nothing is asked, but what stays level packs well. */
	for (size_t i = x->rows.n; i-- > 0;) {
		struct ige_index_row *r = &x->rows.v[i];

		if (r->type == IGE_EVENTS && r->n && r->start_min < smallest)
			smallest = r->start_min;
		r->start_min = smallest;
	}
	ige_builder_reset(b);
	for (unsigned column = X_LENGTH; column < X_COLUMNS; column++) {
		for (size_t i = 0; i < x->rows.n; i++)
			values.v[i] = value_of(&x->rows.v[i], column);
		ige_builder_integers(b, (uint16_t)column, values.v, x->rows.n);
	}
	vec_free(&values);
	h.seq = (*seq)++;
	h.n = (uint32_t)x->rows.n;
	rc = ige_builder_seal(b, &h, out, e);
	if (rc)
		return rc;
	le_put(places, 8, out->n - before);
	le_put(places + 8, 8, x->offset + (out->n - before));
	le_put(places + 16, 8, x->rows.n);
	ige_builder_reset(b);
	ige_builder_column(
		b,
		(struct ige_directory){
			.id = T_PLACES, .encoding = IGE_RAW, .width = 8, .count = T_PLACES_EACH },
		places, sizeof(places));
	h.type = IGE_TRAILER;
	h.n = T_PLACES_EACH;
	h.seq = (*seq)++;
	rc = ige_builder_seal(b, &h, out, e);
	ige_builder_reset(b);
	return rc;
}

void ige_index_free(struct ige_index *x)
{
	vec_free(&x->rows);
}

/* ---- reading ---- */

bool ige_trailer_take(struct ige_trailer *t, const unsigned char in[IGE_TRAILER_BYTES])
{
	struct ige_view v = { .bytes = in };
	struct ige_columns c;
	struct ige_directory d;
	const unsigned char *data;

	if (ige_header_unpack(&v.header, in, NULL) || v.header.type != IGE_TRAILER ||
	    v.header.length != IGE_TRAILER_BYTES || v.header.flags || ige_view_check(&v, NULL))
		return false;
	ige_columns_begin(&c, &v);
	if (!ige_columns_next(&c, &d, &data) || d.id != T_PLACES || d.encoding != IGE_RAW ||
	    d.compressor || d.reserved || d.width != 8 || d.count < T_PLACES_EACH ||
	    d.length != d.count * 8 || crc_bytes(0, data, d.length) != d.crc)
		return false;
	t->to_index = le_get(data, 8);
	t->to_segment = le_get(data + 8, 8);
	t->rows = le_get(data + 16, 8);
	t->tag = IGE_SEQ_TAG(v.header.seq);
	return t->to_index >= IGE_BLOCK_BYTES && t->to_index <= IGE_LENGTH_MAX &&
	       t->to_segment > t->to_index && t->rows <= IGE_EVENTS_MAX;
}

static bool set_value(struct ige_index_row *r, unsigned column, uint64_t v)
{
	switch (column) {
	case X_LENGTH:
		r->length = (uint32_t)v;
		return v >= IGE_BLOCK_BYTES && v <= IGE_LENGTH_MAX && v % 8 == 0;
	case X_TYPE:
		r->type = (uint8_t)v;
		r->flags = (uint8_t)(v >> 8);
		return v <= UINT16_MAX;
	case X_N:
		r->n = (uint32_t)v;
		return v <= IGE_EVENTS_MAX;
	case X_LOST:
		r->lost = (uint32_t)v;
		return v <= UINT32_MAX;
	case X_END_MIN:
		r->end_min = unzigzag(v);
		return true;
	case X_END_MAX:
		r->end_max = unzigzag(v);
		return true;
	case X_START_MIN:
		r->start_min = unzigzag(v);
		return true;
	default:
		r->ops = v;
		return true;
	}
}

bool ige_index_take(struct ige_index *x, const struct ige_view *v)
{
	size_t n = v->header.n;
	VEC(uint64_t) values = { 0 };
	struct ige_columns c;
	struct ige_directory d;
	const unsigned char *data;
	unsigned have = 0;
	bool good = true;

	x->rows.n = 0;
	x->offset = IGE_SEGMENT_BYTES;
	if (v->header.type != IGE_INDEX || n > IGE_EVENTS_MAX || ige_view_check(v, NULL) ||
	    !vec_reserve(&x->rows, n + 1) || !vec_reserve(&values, n + IGE_ROOM))
		good = false;
	if (good)
		memset(x->rows.v, 0, n * sizeof(x->rows.v[0]));
	ige_columns_begin(&c, v);
	while (good && ige_columns_next(&c, &d, &data)) {
		if (d.id < X_LENGTH || d.id >= X_COLUMNS) {
			good = !d.critical;
			continue;
		}
		good = d.count == n && !(have >> d.id & 1) &&
		       ige_column_integers(&d, data, values.v, NULL) == 0;
		have |= 1u << d.id;
		for (size_t i = 0; good && i < n; i++)
			good = set_value(&x->rows.v[i], d.id, values.v[i]);
	}
	vec_free(&values);
	if (!good || have != (1u << X_COLUMNS) - 2)
		return false;
	x->rows.n = n;
	for (size_t i = 0; i < n; i++) {
		x->rows.v[i].offset = x->offset;
		x->offset += x->rows.v[i].length;
	}
	return true;
}

bool ige_index_agrees(const struct ige_index_row *row, const struct ige_header *h)
{
	return row->length == h->length && row->type == h->type && row->flags == h->flags &&
	       row->n == h->n && row->lost == h->lost && row->end_min == h->end_min &&
	       row->end_max == h->end_max &&
	       (h->type != IGE_EVENTS || !h->n || row->start_min <= h->start_min);
}
