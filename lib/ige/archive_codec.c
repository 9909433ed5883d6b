/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses columns for the archive level: every encoding is tried on the first rows, and the best
 * one is used for all.
 */
#include "lib/ige/archive_codec.h"

#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"
#include "lib/ige/byte_shuffle.h"

#define TRY_ROWS 8192 /* the ways are compared on so many */
#define LEVEL	 6    /* of deflate */

static void put_whole(unsigned char *p, const uint64_t *v, size_t n, unsigned width)
{
	for (size_t i = 0; i < n; i++)
		le_put(p + i * width, width, v[i]);
}

static int deflate_column(struct ige_builder *b, enum ige_encoding encoding, const uint64_t *v,
			  size_t n, unsigned width, struct buf *out, struct err *e)
{
	size_t raw = n * width;
	unsigned char *p, head[8];

	buf_reset(&b->raw);
	buf_reset(out);
	p = (unsigned char *)buf_reserve(&b->raw, raw);
	if (!p)
		return err_nomem(e);
	if (encoding == IGE_RAW)
		put_whole(p, v, n, width);
	else
		byte_shuffle_put(p, v, n, width, encoding == IGE_DELTA_PLANES);
	le_put(head, 4, raw);
	le_put(head + 4, 4, 0);
	buf_add(out, head, 8);
	return deflate_bytes(out, p, raw, LEVEL, e);
}

int ige_archive_codec_integers(struct ige_builder *b, const uint64_t *v, size_t n, uint64_t any,
			       struct ige_directory *d, const void **p, size_t *bytes,
			       struct err *e)
{
	static const enum ige_encoding ways[] = { IGE_RAW, IGE_PLANES, IGE_DELTA_PLANES };
	unsigned width = any ? (71 - (unsigned)__builtin_clzll(any)) / 8 : 1;
	enum ige_encoding best = IGE_PLANES;
	size_t best_bytes = SIZE_MAX;
	int rc;

	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]) && *bytes > n / 16; i++) {
		rc = deflate_column(b, ways[i], v, n < TRY_ROWS ? n : TRY_ROWS, width, &b->deflated,
				    e);
		if (rc)
			return rc;
		if (b->deflated.n < best_bytes) {
			best_bytes = b->deflated.n;
			best = ways[i];
		}
	}
	if (best_bytes == SIZE_MAX)
		return 0;
	rc = deflate_column(b, best, v, n, width, &b->deflated, e);
	if (rc)
		return rc;
	if (b->deflated.n >= *bytes)
		return 0;
	d->encoding = (uint8_t)best;
	d->compressor = IGE_ZLIB;
	d->width = (uint8_t)width;
	*p = b->deflated.p;
	*bytes = b->deflated.n;
	return 0;
}
