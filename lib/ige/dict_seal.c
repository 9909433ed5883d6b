/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes queued definitions as DICT blocks, and the SCHEMA block of a segment. Entries of one kind
 * are in runs {first id, entries}, which are deflated where that pays and cut long before a block's
 * limit.
 */
#include <string.h>

#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"
#include "lib/ige/dict_writer.h"

#define DEFLATE_FROM 512	  /* bytes: below it zlib's own overhead eats the gain */
#define RUN_BYTES    (256u << 10) /* a run of entries is cut here, far below the block limit */

/* A run: {first id, entries}; deflated when that pays. */
static int add_run(struct ige_builder *b, enum ige_dict_kind kind, uint32_t first, uint32_t count,
		   const struct buf *entries, struct err *e)
{
	struct ige_directory d = { .id = kind, .encoding = IGE_ENTRIES, .width = 1, .count = count };
	struct buf run = { 0 }, packed = { 0 };
	unsigned char head[8];
	int rc = 0;

	varint_put(&run, first);
	buf_add(&run, entries->p, entries->n);
	if (run.failed) {
		rc = err_nomem(e);
		goto out;
	}
	if (run.n > DEFLATE_FROM) {
		le_put(head, 4, run.n);
		le_put(head + 4, 4, 0);
		buf_add(&packed, head, 8);
		rc = deflate_bytes(&packed, run.p, run.n, 1, e);
		if (rc)
			goto out;
		if (packed.n < run.n && run.n <= packed.n * IGE_INFLATE_MAX) {
			d.compressor = IGE_ZLIB;
			ige_builder_column(b, d, packed.p, packed.n);
			goto out;
		}
	}
	ige_builder_column(b, d, run.p, run.n);
out:
	buf_free(&run);
	buf_free(&packed);
	return rc;
}

static int seal_block(struct ige_builder *b, enum ige_block_type type, uint64_t *seq,
		      struct buf *out, struct err *e)
{
	struct ige_header h = { .type = (uint8_t)type,
				.seq = (*seq)++,
				.start_floor_us = IGE_FLOOR_UNKNOWN };
	int rc = b->ncol ? ige_builder_seal(b, &h, out, e) : 0;

	ige_builder_reset(b);
	return rc;
}

int ige_dict_seal(struct ige_dict_writer *d, struct ige_builder *b, uint64_t *seq, struct buf *out,
		  struct err *e)
{
	size_t before = out->n;
	int rc = 0;

	if (d->failed)
		return err_nomem(e);
	for (int k = 1; k < IGE_D_KINDS && !rc; k++) {
		if (!d->count[k])
			continue;

		struct cursor at = { (const unsigned char *)d->pending[k].p,
				     (const unsigned char *)d->pending[k].p + d->pending[k].n,
				     false };
		uint32_t first = d->first[k];

		/* Cut at whole entries: each begins with its length. */
		while (d->count[k] && !rc) {
			const unsigned char *from = at.p;
			struct buf part = { 0 };
			uint32_t n = 0;

			while (n < d->count[k] && (size_t)(at.p - from) < RUN_BYTES) {
				cursor_take(&at, varint_get(&at));
				n++;
			}
			part.p = (char *)(uintptr_t)from;
			part.n = (size_t)(at.p - from);
			rc = add_run(b, (enum ige_dict_kind)k, first, n, &part, e);
			first += n;
			d->count[k] -= n;
			if (!rc && b->data.n > RUN_BYTES)
				rc = seal_block(b, IGE_DICT, seq, out, e);
		}
		buf_reset(&d->pending[k]);
	}
	d->pending_bytes = 0;
	if (!rc && b->ncol)
		rc = seal_block(b, IGE_DICT, seq, out, e);
	d->bytes += out->n - before;
	return rc;
}

static void put_text(struct buf *b, const char *text)
{
	varint_put(b, strlen(text));
	buf_puts(b, text);
}

static void define_column(struct buf *entry, const struct column_def *c)
{
	varint_put(entry, c->id);
	put_text(entry, c->name);
	varint_put(entry, c->role);
	put_text(entry, c->unit);
	varint_put(entry, 0); /* not critical */
}

static void define_op(struct buf *entry, const struct op_def *op)
{
	varint_put(entry, op->id);
	put_text(entry, op->source_name);
	put_text(entry, op->name);
	varint_put(entry, op->track);
	varint_put(entry, op->flags);
	varint_put(entry, op->ncols);
	for (unsigned i = 0; i < op->ncols; i++)
		varint_put(entry, op->cols[i]);
}

int ige_schema_seal(const struct world *w, struct ige_builder *b, uint64_t *seq, struct buf *out,
		    struct err *e)
{
	struct buf ops = { 0 }, columns = { 0 }, entry = { 0 };
	uint32_t nops = 0, ncolumns = 0;
	int rc;

	for (uint32_t i = 0; i <= UINT16_MAX; i++) {
		const struct op_def *op = world_op(w, (uint16_t)i);
		const struct column_def *column = world_column(w, (uint16_t)i);

		if (column) {
			buf_reset(&entry);
			define_column(&entry, column);
			varint_put(&columns, entry.n);
			buf_add(&columns, entry.p, entry.n);
			ncolumns++;
		}
		if (op) {
			buf_reset(&entry);
			define_op(&entry, op);
			varint_put(&ops, entry.n);
			buf_add(&ops, entry.p, entry.n);
			nops++;
		}
	}
	rc = ops.failed || columns.failed || entry.failed ? err_nomem(e) : 0;
	if (!rc)
		rc = add_run(b, IGE_D_COLUMN, 1, ncolumns, &columns, e);
	if (!rc)
		rc = add_run(b, IGE_D_OP, 1, nops, &ops, e);
	if (!rc)
		rc = seal_block(b, IGE_SCHEMA, seq, out, e);
	buf_free(&ops);
	buf_free(&columns);
	buf_free(&entry);
	return rc;
}
