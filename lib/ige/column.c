/* SPDX-License-Identifier: Apache-2.0 */
/* Column codecs: integers packed, as differences, constant or raw; bytes stored or deflated. */
#include <string.h>

#include "lib/base/cpu.h"
#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"
#include "lib/ige/forpack.h"
#include "lib/ige/byte_shuffle.h"
#include "lib/ige/block.h"

#if CPU_X86
#include <immintrin.h>
#endif

/*
 * Compresses columns for the archive level: every encoding is tried on the first rows, and the best
 * one is used for all.
 */

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

/* The smallest of all ways to write v[0..n): d and *p as given if none is smaller than *bytes, else
 * replaced by one in b's memory. */
static int ige_archive_codec_integers(struct ige_builder *b, const uint64_t *v, size_t n,
				      uint64_t any, struct ige_directory *d, const void **p,
				      size_t *bytes, struct err *e)
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

static unsigned width_of(uint64_t all_bits)
{
	if (all_bits <= UINT8_MAX)
		return 1;
	if (all_bits <= UINT16_MAX)
		return 2;
	return all_bits <= UINT32_MAX ? 4 : 8;
}

/* One loop per width lets the compiler turn each into moves. */
static void put_raw(unsigned char *p, const uint64_t *v, size_t n, unsigned width)
{
	switch (width) {
	case 1:
		for (size_t i = 0; i < n; i++)
			p[i] = (unsigned char)v[i];
		break;
	case 2:
		for (size_t i = 0; i < n; i++)
			le_put(p + i * 2, 2, v[i]);
		break;
	case 4:
		for (size_t i = 0; i < n; i++)
			le_put(p + i * 4, 4, v[i]);
		break;
	default:
		for (size_t i = 0; i < n; i++)
			le_put(p + i * 8, 8, v[i]);
	}
}

/* v as its differences, where that is possible; NULL on OOM. */
static const uint64_t *compute_differences(struct ige_builder *b, const uint64_t *v, size_t n)
{
	b->deltas.n = 0;
	if (!vec_reserve(&b->deltas, n))
		return NULL;
	b->deltas.v[0] = v[0];
	for (size_t i = 1; i < n; i++)
		b->deltas.v[i] = v[i] - v[i - 1];
	return b->deltas.v;
}

/* What is to be known of a column before it is encoded. */
struct seen {
	uint64_t any, differ; /* all bits; those that are not in all */
	bool falls;	      /* a value is below the one before it */
};

static inline __attribute__((always_inline)) struct seen look(const uint64_t *v, size_t n)
{
	struct seen s = { .any = n ? v[0] : 0 };
	uint64_t falls = 0;

	for (size_t i = 1; i < n; i++) {
		s.any |= v[i];
		s.differ |= v[i] ^ v[i - 1];
		falls |= v[i] - v[i - 1];
	}
	/* Below 2^63 the sign of a difference tells; where one is not, they are compared. */
	s.falls = falls >> 63;
	if (s.any >> 63) {
		s.falls = false;
		for (size_t i = 1; i < n && !s.falls; i++)
			s.falls = v[i] < v[i - 1];
	}
	return s;
}

static struct seen look_plain(const uint64_t *v, size_t n)
{
	return look(v, n);
}

#if CPU_X86
static CPU_AVX2 struct seen look_avx2(const uint64_t *v, size_t n)
{
	return look(v, n);
}

#define BEST(what) (cpu_has_avx2() ? what##_avx2 : what##_plain)
#else
#define BEST(what) what##_plain
#endif

void ige_builder_integers(struct ige_builder *b, uint16_t id, const uint64_t *v, size_t n)
{
	struct ige_directory d = { .id = id, .encoding = IGE_PACKED, .count = (uint32_t)n };
	struct seen seen;
	unsigned char eight[8];
	const void *best;
	size_t raw, best_bytes;

	seen = BEST(look)(v, n);
	if (n && !seen.differ) {
		d.encoding = IGE_CONSTANT;
		d.width = 8;
		le_put(eight, 8, v[0]);
		ige_builder_column(b, d, eight, 8);
		return;
	}
	buf_reset(&b->packed);
	raw = n * width_of(seen.any);
	if (n && !seen.falls) {
		const uint64_t *deltas = compute_differences(b, v, n);

		if (!deltas) {
			b->data.failed = true;
			return;
		}
		d.encoding = IGE_DELTA;
		forpack_put(&b->packed, deltas, n);
	} else {
		forpack_put(&b->packed, v, n);
	}
	/* Numbers without structure, such as the bits of doubles. */
	if (b->packed.n > raw) {
		unsigned char *p;

		buf_reset(&b->packed);
		p = (unsigned char *)buf_reserve(&b->packed, raw);
		d.encoding = IGE_RAW;
		d.width = (uint8_t)width_of(seen.any);
		if (p) {
			put_raw(p, v, n, d.width);
			buf_added(&b->packed, raw);
		}
	}
	best = b->packed.p;
	best_bytes = b->packed.n;
	if (b->packed.failed || (b->small && ige_archive_codec_integers(b, v, n, seen.any, &d,
									&best, &best_bytes, NULL)))
		b->data.failed = true;
	else
		ige_builder_column(b, d, best, best_bytes);
}

int ige_column_check(const struct ige_directory *d, const unsigned char *data, struct err *e)
{
	if (crc_bytes(0, data, d->length) != d->crc)
		return err_set(e, ERR_DAMAGED, "column %u: checksum does not match", d->id);
	return 0;
}

/* The bytes that the encoding describes; limit: of them when compressed. */
static int decompress_column(const struct ige_directory *d, const unsigned char *data,
			     uint64_t limit, struct buf *scratch, const unsigned char **p,
			     size_t *n, struct err *e)
{
	uint64_t raw;
	int rc;

	if (d->reserved)
		return err_set(e, ERR_TOO_NEW, "column %u: flags %u", d->id, d->reserved);
	if (d->compressor == IGE_STORED) {
		*p = data;
		*n = d->length;
		return 0;
	}
	if (d->compressor != IGE_ZLIB)
		return err_set(e, ERR_TOO_NEW, "column %u: compressor %u", d->id, d->compressor);
	raw = d->length < 8 ? UINT64_MAX : le_get(data, 4);
	if (raw > IGE_LENGTH_MAX || raw > limit)
		return err_set(e, ERR_DAMAGED, "column %u: inflates past the limit", d->id);
	buf_reset(scratch);
	rc = inflate_bytes(scratch, data + 8, d->length - 8, (size_t)raw, e);
	if (rc)
		return rc == ERR_LIMIT ? err_set(e, ERR_DAMAGED,
						 "column %u: inflates past its length", d->id)
				       : rc;
	if (scratch->n != raw)
		return err_set(e, ERR_DAMAGED, "column %u: inflates short of its length", d->id);
	*p = (const unsigned char *)scratch->p;
	*n = scratch->n;
	return 0;
}

int ige_column_bytes(const struct ige_directory *d, const unsigned char *data, struct buf *scratch,
		     const unsigned char **p, size_t *n, struct err *e)
{
	int rc = ige_column_check(d, data, e);

	return rc ? rc
		  : decompress_column(d, data, (uint64_t)d->length * IGE_INFLATE_MAX, scratch, p, n,
				      e);
}

/* Replaces differences by their running sums. */
static void sum_plain(uint64_t *v, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		v[i] = sum += v[i];
}

#if CPU_X86
/* Four at a time: the sums within four, then what came before them. v has room for whole groups. */
static CPU_AVX2 void sum_avx2(uint64_t *v, size_t n)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i before = zero;

	for (size_t i = 0; i < n; i += 4) {
		__m256i *at = (__m256i *)(void *)(v + i), four = _mm256_loadu_si256(at), sums;

		/* a, a+b, b+c, c+d; and what stands two places before is still missing */
		sums = _mm256_add_epi64(
			four,
			_mm256_alignr_epi8(four, _mm256_permute2x128_si256(four, four, 0x08), 8));
		sums = _mm256_add_epi64(sums, _mm256_permute2x128_si256(sums, sums, 0x08));
		_mm256_storeu_si256(at, _mm256_add_epi64(sums, before));
		before = _mm256_add_epi64(before, _mm256_permute4x64_epi64(sums, 0xff));
	}
}
#endif

static void sum_deltas(uint64_t *v, size_t n)
{
#if CPU_X86
	if (cpu_has_avx2()) {
		sum_avx2(v, n);
		return;
	}
#endif
	sum_plain(v, n);
}

static int decode_integers(const struct ige_directory *d, const unsigned char *p, size_t n,
			   uint64_t *v, struct err *e)
{
	if (d->encoding == IGE_CONSTANT) {
		uint64_t value;

		if (n != 8)
			return err_set(e, ERR_DAMAGED, "column %u: constant of %zu bytes", d->id,
				       n);
		value = le_get(p, 8);
		for (uint32_t i = 0; i < d->count; i++)
			v[i] = value;
		return 0;
	}
	if (d->encoding == IGE_PACKED || d->encoding == IGE_DELTA) {
		if (!forpack_get(p, n, v, d->count))
			return err_set(e, ERR_DAMAGED,
				       "column %u: %u values are not in its %zu bytes", d->id,
				       d->count, n);
		if (d->encoding == IGE_DELTA)
			sum_deltas(v, d->count);
		return 0;
	}
	if (d->width < 1 || d->width > 8 || (uint64_t)d->count * d->width != n)
		return err_set(e, ERR_DAMAGED, "column %u: %u values of %u bytes in %zu", d->id,
			       d->count, d->width, n);
	if (d->encoding != IGE_RAW) {
		byte_shuffle_get(p, v, d->count, d->width, d->encoding == IGE_DELTA_PLANES);
		return 0;
	}
	switch (d->width) {
	case 1:
		for (uint32_t i = 0; i < d->count; i++)
			v[i] = p[i];
		break;
	case 2:
		for (uint32_t i = 0; i < d->count; i++)
			v[i] = le_get(p + i * 2, 2);
		break;
	case 4:
		for (uint32_t i = 0; i < d->count; i++)
			v[i] = le_get(p + i * 4, 4);
		break;
	default:
		for (uint32_t i = 0; i < d->count; i++)
			v[i] = le_get(p + (size_t)i * d->width, d->width);
	}
	return 0;
}

int ige_column_integers(const struct ige_directory *d, const unsigned char *data, uint64_t *v,
			struct err *e)
{
	struct buf scratch = { 0 };
	const unsigned char *p = NULL;
	size_t n = 0;
	int rc = ige_column_check(d, data, e);

	if (rc)
		return rc;
	if (d->encoding != IGE_RAW && (d->encoding < IGE_PACKED || d->encoding > IGE_DELTA) &&
	    d->encoding != IGE_PLANES && d->encoding != IGE_DELTA_PLANES)
		return err_set(e, ERR_TOO_NEW, "column %u: encoding %u", d->id, d->encoding);
	if (d->width && (d->encoding == IGE_PACKED || d->encoding == IGE_DELTA))
		return err_set(e, ERR_TOO_NEW, "column %u: width %u", d->id, d->width);
	/* How many bytes they are is known for most. */
	rc = decompress_column(d, data,
			       d->width ? (uint64_t)d->count * d->width
					: (uint64_t)d->length * IGE_INFLATE_MAX,
			       &scratch, &p, &n, e);
	if (!rc)
		rc = decode_integers(d, p, n, v, e);
	buf_free(&scratch);
	return rc;
}
