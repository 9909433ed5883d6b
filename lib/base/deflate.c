/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses and decompresses whole buffers with zlib. Inflating grows the output as bytes appear
 * and stops at the caller's limit, so that a small hostile stream cannot demand much memory.
 */
#include "lib/base/deflate.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "lib/base/crcfold.h"

#define CHUNK ((size_t)256 * 1024)

static uInt chunk_of(size_t n)
{
	return n > UINT_MAX ? UINT_MAX : (uInt)n;
}

int deflate_bytes(struct buf *out, const void *p, size_t n, int level, struct err *e)
{
	z_stream z = { 0 };
	const unsigned char *in = p;
	size_t left = n;
	int rc;

	if (deflateInit(&z, level) != Z_OK)
		return err_nomem(e);
	do {
		char *at = buf_reserve(out, CHUNK);

		if (!at) {
			deflateEnd(&z);
			return err_nomem(e);
		}
		if (!z.avail_in && left) {
			z.avail_in = chunk_of(left);
			z.next_in = (unsigned char *)in;
			in += z.avail_in;
			left -= z.avail_in;
		}
		z.next_out = (unsigned char *)at;
		z.avail_out = CHUNK;
		rc = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		buf_added(out, CHUNK - z.avail_out);
	} while (rc == Z_OK || rc == Z_BUF_ERROR);
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : err_set(e, ERR_SYS, "zlib cannot compress (%d)", rc);
}

int inflate_bytes(struct buf *out, const void *p, size_t n, size_t max_out, struct err *e)
{
	z_stream z = { 0 };
	const unsigned char *in = p;
	size_t left = n, produced = 0;
	int rc = Z_OK, result = 0;

	if (inflateInit(&z) != Z_OK)
		return err_nomem(e);
	while (rc != Z_STREAM_END) {
		/* One byte past the limit tells "exactly full" from "too much". */
		size_t room = max_out - produced < CHUNK ? max_out - produced + 1 : CHUNK;
		char *at = buf_reserve(out, room);

		if (!at) {
			result = err_nomem(e);
			goto out;
		}
		if (!z.avail_in && left) {
			z.avail_in = chunk_of(left);
			z.next_in = (unsigned char *)in;
			in += z.avail_in;
			left -= z.avail_in;
		}
		z.next_out = (unsigned char *)at;
		z.avail_out = (uInt)room;
		rc = inflate(&z, Z_NO_FLUSH);
		if (rc != Z_OK && rc != Z_STREAM_END) {
			result = rc == Z_MEM_ERROR
					 ? err_nomem(e)
					 : err_set(e, ERR_DAMAGED,
						   "compressed data is damaged or cut short");
			goto out;
		}
		produced += room - z.avail_out;
		if (produced > max_out) {
			result = err_set(e, ERR_LIMIT,
					 "compressed data unpacks to more than %zu bytes", max_out);
			goto out;
		}
		buf_added(out, room - z.avail_out);
	}
	if (left || z.avail_in)
		result = err_set(e, ERR_DAMAGED, "bytes follow the compressed data");
out:
	inflateEnd(&z);
	return result;
}

uint32_t crc_bytes(uint32_t crc, const void *p, size_t n)
{
	const unsigned char *at = p;
	unsigned char left[CRCFOLD_BYTES];
	size_t folded;

	if (!n)
		return crc;
	/* zlib inverts what it is given, and what it gives. */
	folded = crcfold(~crc, at, n, left);
	if (folded)
		crc = (uint32_t)crc32_z(UINT32_MAX, left, sizeof(left));
	return folded == n ? crc : (uint32_t)crc32_z(crc, at + folded, n - folded);
}

struct gzip {
	z_stream z;
};

int gzip_new(struct gzip **out, int level, struct err *e)
{
	struct gzip *g = calloc(1, sizeof(*g));

	*out = g;
	/* 16: a gzip file and not a zlib stream; 15 and 8 are zlib's defaults. */
	if (g && deflateInit2(&g->z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK)
		return 0;
	free(g);
	*out = NULL;
	return err_nomem(e);
}

int gzip_add(struct gzip *g, struct buf *out, const void *p, size_t n, bool last, struct err *e)
{
	const unsigned char *in = p;
	int rc = Z_OK;

	do {
		char *at = buf_reserve(out, CHUNK);

		if (!at)
			return err_nomem(e);
		if (!g->z.avail_in && n) {
			g->z.avail_in = chunk_of(n);
			g->z.next_in = (unsigned char *)in;
			in += g->z.avail_in;
			n -= g->z.avail_in;
		}
		g->z.next_out = (unsigned char *)at;
		g->z.avail_out = CHUNK;
		rc = deflate(&g->z, last && !n ? Z_FINISH : Z_NO_FLUSH);
		buf_added(out, CHUNK - g->z.avail_out);
		if (rc != Z_OK && rc != Z_BUF_ERROR && rc != Z_STREAM_END)
			return err_set(e, ERR_SYS, "zlib cannot compress (%d)", rc);
	} while (last ? rc != Z_STREAM_END : n || g->z.avail_in);
	return 0;
}

void gzip_free(struct gzip *g)
{
	if (!g)
		return;
	deflateEnd(&g->z);
	free(g);
}
