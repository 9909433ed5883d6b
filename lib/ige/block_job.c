/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a block's columns for a worker thread that compresses them. Whether a column fits in four
 * bytes is known without reading it: ids do, times by the first and last of all. */
#include "lib/ige/block_job.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/nt_copy.h"

static struct ige_packed place_column(size_t *bytes, size_t n, unsigned width)
{
	struct ige_packed p = { *bytes, n, width };

	*bytes += NT_COPY_BYTES(n, width);
	return p;
}

/* Lays out all columns; returns how many bytes they take. 0: out of memory. */
static size_t find_places(struct ige_block_job *b, const struct ige_rows *r)
{
	/* A duration ends by the last end and began after the first start. */
	const uint64_t ends = (uint64_t)r->end_max - (uint64_t)r->end_min,
		       durations = (uint64_t)r->end_max - (uint64_t)r->start_min;
	size_t bytes = 0;

	for (uint16_t id = IGE_END; id <= IGE_DEPTH; id++) {
		uint64_t most = id == IGE_END ? ends : id == IGE_DUR ? durations : 0;

		b->own[id] = place_column(&bytes, r->n, most > UINT32_MAX ? 8 : 4);
	}
	b->extras.n = 0;
	if (!vec_reserve(&b->extras, r->extras.n))
		return 0;
	for (size_t i = 0; i < r->extras.n; i++) {
		const struct ige_extra *x = &r->extras.v[i];
		struct ige_block_job_column baled = { .id = x->id, .gaps = x->gaps };

		/* A column without a value in the whole block is left out. */
		if (!x->values.n)
			continue;
		baled.values = place_column(&bytes, x->values.n, 8);
		baled.eligible = place_column(&bytes, x->eligible.n, 1);
		b->extras.v[b->extras.n++] = baled;
	}
	return bytes;
}

static bool make_room(struct ige_block_job *b, size_t bytes)
{
	unsigned char *p;

	if (b->cap >= bytes)
		return true;
	bytes += bytes / 4 & ~(size_t)(NT_COPY_ALIGN - 1);
	p = aligned_alloc(NT_COPY_ALIGN, bytes);
	if (!p)
		return false;
	free(b->bytes);
	b->bytes = p;
	b->cap = bytes;
	return true;
}

bool ige_block_job_bind(struct ige_block_job *b, struct ige_rows *r, struct ige_header *h)
{
	size_t bytes = find_places(b, r), k = 0;

	if (!bytes || !make_room(b, bytes))
		return false;
	for (uint16_t id = IGE_END; id <= IGE_DEPTH; id++)
		nt_copy_put(b->bytes + b->own[id].at, r->column[id], r->n,
			    id == IGE_END ? (uint64_t)r->end_min : 0, b->own[id].width);
	for (size_t i = 0; i < r->extras.n; i++) {
		const struct ige_extra *x = &r->extras.v[i];
		const struct ige_block_job_column *to = &b->extras.v[k];

		if (!x->values.n)
			continue;
		nt_copy_put(b->bytes + to->values.at, x->values.v, x->values.n, 0, 8);
		nt_copy_put_bytes(b->bytes + to->eligible.at, x->eligible.v, x->eligible.n);
		k++;
	}
	ige_rows_head(r, h);
	b->n = r->n;
	ige_rows_clear(r);
	return true;
}

size_t ige_block_job_bound(const struct ige_block_job *b)
{
	const size_t column = IGE_DIRECTORY_BYTES + 8; /* and padding */
	size_t bytes = IGE_BLOCK_BYTES + (IGE_DEPTH + 1) * (column + b->n * 8);

	/* Its values and a bit for each row, or both as varints among the few. */
	for (size_t i = 0; i < b->extras.n; i++)
		bytes += 2 * column + 32 + b->extras.v[i].values.n * 10 +
			 b->extras.v[i].eligible.n / 8;
	return bytes;
}

static bool unpack_extras(struct ige_block_job *b)
{
	ige_rows_clear(&b->rows);
	for (size_t i = 0; i < b->extras.n; i++) {
		const struct ige_block_job_column *from = &b->extras.v[i];
		struct ige_extra *x;

		if (i == b->rows.extras.n && !vec_push(&b->rows.extras, (struct ige_extra){ 0 }))
			return false;
		x = &b->rows.extras.v[i];
		if (!vec_reserve(&x->values, from->values.n) ||
		    !vec_reserve(&x->eligible, from->eligible.n))
			return false;
		x->id = from->id;
		x->gaps = from->gaps;
		x->values.n = from->values.n;
		x->eligible.n = from->eligible.n;
		nt_copy_get(x->values.v, b->bytes + from->values.at, x->values.n, 8);
		memcpy(x->eligible.v, b->bytes + from->eligible.at, x->eligible.n);
	}
	return true;
}

int ige_block_job_seal(struct ige_block_job *b, struct ige_builder *builder, struct ige_header *h,
		       struct buf *out, struct err *e)
{
	if (!vec_reserve(&b->near, b->n + IGE_ROOM) || !unpack_extras(b))
		return err_nomem(e);
	for (uint16_t id = IGE_END; id <= IGE_DEPTH; id++) {
		nt_copy_get(b->near.v, b->bytes + b->own[id].at, b->n, b->own[id].width);
		ige_builder_integers(builder, id, b->near.v, b->n);
	}
	return ige_rows_seal_extras(&b->rows, builder, h, out, e);
}

void ige_block_job_free(struct ige_block_job *b)
{
	free(b->bytes);
	vec_free(&b->extras);
	vec_free(&b->near);
	ige_rows_free(&b->rows);
}
