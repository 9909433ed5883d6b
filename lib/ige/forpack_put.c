/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs integers into frame-of-reference columns. The width of a group is found from how many
 * values need how many bits: only widths that occur are tried, from the widest down. Loops over a
 * group have no branches and no chains longer than they must be, since they run over every column
 * of every event; packing has one loop per width, so that every shift is a constant.
 */
#include <endian.h>
#include <string.h>

#include "lib/base/cpu.h"
#include "lib/base/wirebytes.h"
#include "lib/ige/forpack.h"

#define NEEDS 4 /* counts kept apart, so that a count need not wait for the one before it */

static unsigned bits_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static size_t packed_bytes(size_t n, unsigned width)
{
	return (n * width + 7) / 8;
}

/* A patch: its index, and the bits above width as a varint. */
static size_t patch_bytes(unsigned bits, unsigned width)
{
	return 1 + (bits - width + 6) / 7;
}

/* Eight values of one width stand in `width` bytes; what is written behind those is written over by
 * the next eight. */
static inline __attribute__((always_inline)) void pack(unsigned char *p, const uint64_t *v,
						       const unsigned width)
{
	const uint64_t mask = width ? ~0ull >> ((64 - width) & 63) : 0;

	for (unsigned group = 0; group < FORPACK_GROUP; group += 8, v += 8) {
		uint64_t word = 0;
		unsigned filled = 0, at = 0;

#pragma GCC unroll 8
		for (unsigned i = 0; i < 8; i++) {
			uint64_t low = v[i] & mask;

			word |= low << filled;
			filled += width;
			if (filled < 64)
				continue;
			le_put(p + at, 8, word);
			at += 8;
			filled -= 64;
			word = filled ? low >> (width - filled) : 0;
		}
		if (filled)
			le_put(p + at, 8, word);
		p += width;
	}
}

#define PACK(w)                                                   \
	static void pack_##w(unsigned char *p, const uint64_t *v) \
	{                                                         \
		pack(p, v, w);                                    \
	}

FORPACK_EACH_WIDTH(PACK)

typedef void pack_fn(unsigned char *p, const uint64_t *v);

#define NAME(w) pack_##w,
static pack_fn *const packers[] = { FORPACK_EACH_WIDTH(NAME) };

/* One group on its way: what its values are above the smallest of them, and how many bits that
 * takes. */
struct group {
	uint64_t above[FORPACK_GROUP];
	uint8_t bits[FORPACK_GROUP]; /* NONE behind those that are there */
	uint64_t base, any;	     /* any: all bits of above */
	unsigned width;		     /* the cheapest */
};
#define NONE 0xff

/* How many values take so many bits. */
typedef unsigned count_fn(const void *counts, unsigned bits);

static inline __attribute__((always_inline)) unsigned cheapest(unsigned most, size_t n,
							       count_fn *count, const void *counts)
{
	unsigned lengths[65], each[65], nlengths = 0, best = 0;
	size_t best_cost = SIZE_MAX;

	/* Narrower only adds patches, so stop when those alone cost too much. */
	for (unsigned length = most + 1; length-- > 0;) {
		unsigned width = length < FORPACK_WIDTH_MAX ? length : FORPACK_WIDTH_MAX;
		unsigned here = count(counts, length);
		size_t cost = 0;

		if (!here)
			continue;
		for (unsigned k = 0; k < nlengths; k++)
			cost += each[k] * patch_bytes(lengths[k], width);
		if (length > width)
			cost += here * patch_bytes(length, width);
		if (cost >= best_cost)
			break;
		cost += packed_bytes(n, width);
		if (cost < best_cost) {
			best_cost = cost;
			best = width;
		}
		lengths[nlengths] = length;
		each[nlengths++] = here;
	}
	return best;
}

/* v as it stands above the smallest of a whole group. */
static inline __attribute__((always_inline)) void level(struct group *g, const uint64_t *v)
{
	uint64_t lowest[4] = { v[0], v[1], v[2], v[3] }, any[4] = { 0 };

	for (size_t i = 4; i < FORPACK_GROUP; i += 4)
		for (size_t k = 0; k < 4; k++)
			lowest[k] = v[i + k] < lowest[k] ? v[i + k] : lowest[k];
	lowest[0] = lowest[0] < lowest[1] ? lowest[0] : lowest[1];
	lowest[2] = lowest[2] < lowest[3] ? lowest[2] : lowest[3];
	g->base = lowest[0] < lowest[2] ? lowest[0] : lowest[2];
	for (size_t i = 0; i < FORPACK_GROUP; i += 4)
		for (size_t k = 0; k < 4; k++) {
			g->above[i + k] = v[i + k] - g->base;
			any[k] |= g->above[i + k];
		}
	g->any = any[0] | any[1] | any[2] | any[3];
}

/* The same for values below 2^31, in four lanes at a time: the exponent of v as a float. The bit
 * below the highest is cleared, so that nothing rounds up to the next power of two. */
static inline __attribute__((always_inline)) void bits_of_group(const uint64_t *v, uint8_t *bits)
{
	union {
		float f;
		int32_t i;
	} x[FORPACK_GROUP];

	for (unsigned i = 0; i < FORPACK_GROUP; i++) {
		int32_t small = (int32_t)v[i];

		x[i].f = (float)(small & ~(small >> 1));
	}
	for (unsigned i = 0; i < FORPACK_GROUP; i++) {
		int32_t b = (x[i].i >> 23) - 126;

		bits[i] = (uint8_t)(b & ~(b >> 31));
	}
}

static inline __attribute__((always_inline)) void bits_of_all(struct group *g)
{
	for (size_t i = 0; i < FORPACK_GROUP; i++)
		g->bits[i] = (uint8_t)bits_of(g->above[i]);
}

static unsigned count_plain(const void *counts, unsigned bits)
{
	return ((const uint8_t *)counts)[bits];
}

/* v is a whole group, of which n values are there. */
static void measure_plain(struct group *g, const uint64_t *v, size_t n)
{
	uint8_t need[NEEDS][72] = { 0 };

	level(g, v);
	if (g->any >> 31)
		bits_of_all(g);
	else
		bits_of_group(g->above, g->bits);
	memset(g->bits + n, NONE, FORPACK_GROUP - n);
	for (size_t i = 0; i < n; i++)
		need[i % NEEDS][g->bits[i]]++;
	for (size_t i = 0; i <= 64; i++)
		need[0][i] = (uint8_t)(need[0][i] + need[1][i] + need[2][i] + need[3][i]);
	g->width = cheapest(bits_of(g->any), n, count_plain, need[0]);
}

static unsigned patches_plain(const struct group *g, unsigned width,
			      uint8_t patches[FORPACK_GROUP + 1])
{
	unsigned n = 0;

	for (unsigned i = 0; i < FORPACK_GROUP; i++) {
		patches[n] = (uint8_t)i;
		n += g->bits[i] > width && g->bits[i] != NONE;
	}
	return n;
}

#if CPU_X86
#include <immintrin.h>

static inline CPU_AVX2 __m256i load_256(const void *p)
{
	return _mm256_loadu_si256(p);
}

/* How many bits eight numbers below 2^31 take: see bits_of_group. */
static inline CPU_AVX2 __m256i bits_of_eight(const uint64_t *v)
{
	__m256i x = _mm256_castps_si256(_mm256_shuffle_ps(
		_mm256_castsi256_ps(load_256(v)), _mm256_castsi256_ps(load_256(v + 4)), 0x88));

	x = _mm256_castps_si256(
		_mm256_cvtepi32_ps(_mm256_andnot_si256(_mm256_srli_epi32(x, 1), x)));
	x = _mm256_sub_epi32(_mm256_srli_epi32(x, 23), _mm256_set1_epi32(126));
	return _mm256_max_epi32(x, _mm256_setzero_si256());
}

/* Below 2^63, where signed comparison will do. */
static CPU_AVX2 void level_avx2(struct group *g, const uint64_t *v)
{
	__m256i lowest = load_256(v), any = lowest, base;
	uint64_t four[4];

	for (size_t i = 4; i < FORPACK_GROUP; i += 4)
		any = _mm256_or_si256(any, load_256(v + i));
	if (_mm256_movemask_pd(_mm256_castsi256_pd(any))) {
		level(g, v);
		return;
	}
	for (size_t i = 4; i < FORPACK_GROUP; i += 4) {
		__m256i next = load_256(v + i);

		lowest = _mm256_blendv_epi8(lowest, next, _mm256_cmpgt_epi64(lowest, next));
	}
	_mm256_storeu_si256((__m256i *)(void *)four, lowest);
	for (size_t k = 1; k < 4; k++)
		four[0] = four[k] < four[0] ? four[k] : four[0];
	g->base = four[0];
	base = _mm256_set1_epi64x((long long)g->base);
	any = _mm256_setzero_si256();
	for (size_t i = 0; i < FORPACK_GROUP; i += 4) {
		__m256i above = _mm256_sub_epi64(load_256(v + i), base);

		_mm256_storeu_si256((__m256i *)(void *)(g->above + i), above);
		any = _mm256_or_si256(any, above);
	}
	_mm256_storeu_si256((__m256i *)(void *)four, any);
	g->any = four[0] | four[1] | four[2] | four[3];
}

static CPU_AVX2 unsigned count_avx2(const void *counts, unsigned bits)
{
	const uint8_t *at = counts;
	const __m256i is = _mm256_set1_epi8((char)bits);
	unsigned n = 0;

	for (size_t i = 0; i < FORPACK_GROUP; i += 32)
		n += (unsigned)__builtin_popcount(
			(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(load_256(at + i), is)));
	return n;
}

static CPU_AVX2 void measure_avx2(struct group *g, const uint64_t *v, size_t n)
{
	unsigned most;

	level_avx2(g, v);
	most = bits_of(g->any);
	if (most > 31)
		bits_of_all(g);
	for (size_t i = 0; i < FORPACK_GROUP && most <= 31; i += 32) {
		const uint64_t *at = g->above + i;
		__m256i low = _mm256_packs_epi32(bits_of_eight(at), bits_of_eight(at + 8)),
			high = _mm256_packs_epi32(bits_of_eight(at + 16), bits_of_eight(at + 24)),
			all = _mm256_packs_epi16(low, high);
		__m128i a = _mm256_castsi256_si128(all), b = _mm256_extracti128_si256(all, 1);

		/* Two values here, the next two there. */
		_mm_storeu_si128((__m128i *)(void *)(g->bits + i), _mm_unpacklo_epi16(a, b));
		_mm_storeu_si128((__m128i *)(void *)(g->bits + i + 16), _mm_unpackhi_epi16(a, b));
	}
	memset(g->bits + n, NONE, FORPACK_GROUP - n);
	g->width = cheapest(most, n, count_avx2, g->bits);
}

static CPU_AVX2 unsigned patches_avx2(const struct group *g, unsigned width,
				      uint8_t patches[FORPACK_GROUP + 1])
{
	const __m256i above = _mm256_set1_epi8((char)width);
	unsigned n = 0;

	for (unsigned i = 0; i < FORPACK_GROUP; i += 32) {
		unsigned more = (unsigned)_mm256_movemask_epi8(
			_mm256_cmpgt_epi8(load_256(g->bits + i), above));

		for (; more; more &= more - 1)
			patches[n++] = (uint8_t)(i + (unsigned)__builtin_ctz(more));
	}
	return n;
}

#define BEST(what) (cpu_has_avx2() ? what##_avx2 : what##_plain)
#else
#define BEST(what) what##_plain
#endif

/* A varint at p; where the next byte goes. */
static inline unsigned char *put_varint(unsigned char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (unsigned char)(v | 0x80);
	*p++ = (unsigned char)v;
	return p;
}

/* What a group may take: head, base, values with what is written behind them, patches. */
#define ROOM (2 + 10 + FORPACK_GROUP * 7 + 8 + FORPACK_GROUP * 11)

static void put_group(struct buf *out, const uint64_t *v, size_t n)
{
	unsigned char *const begin = (unsigned char *)buf_reserve(out, ROOM), *p = begin;
	uint8_t patches[FORPACK_GROUP + 1];
	uint64_t whole[FORPACK_GROUP];
	struct group g;
	unsigned npatch;

	if (!begin)
		return;
	/* A short group is filled up with a value of its own, which is not counted then. */
	for (size_t i = 0; n < FORPACK_GROUP && i < FORPACK_GROUP; i++)
		whole[i] = v[i < n ? i : 0];
	BEST(measure)(&g, n < FORPACK_GROUP ? whole : v, n);
	for (size_t i = n; i < FORPACK_GROUP; i++)
		g.above[i] = 0;
	npatch = BEST(patches)(&g, g.width, patches);
	*p++ = (unsigned char)g.width;
	*p++ = (unsigned char)npatch;
	p = put_varint(p, g.base);
	packers[g.width](p, g.above);
	p += packed_bytes(n, g.width);
	for (unsigned i = 0; i < npatch; i++) {
		*p++ = patches[i];
		p = put_varint(p, g.above[patches[i]] >> g.width);
	}
	buf_added(out, (size_t)(p - begin));
}

void forpack_put(struct buf *out, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i += FORPACK_GROUP)
		put_group(out, v + i, n - i < FORPACK_GROUP ? n - i : FORPACK_GROUP);
}
