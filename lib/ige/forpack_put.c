/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing. The width of a group is found from how many values need how many bits: only widths that
 * occur are tried. Loops over a group have no branches and no chains longer than they must be, since
 * they run over every column of every event; packing has one loop per width, so that every shift is
 * a constant.
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

/* The cheapest width for values of which need[b] take b bits. */
static unsigned choose_width(const uint8_t need[65], size_t n)
{
	unsigned lengths[65], nlengths = 0, best = 0;
	size_t best_cost = SIZE_MAX;

	for (unsigned b = 0; b <= 64; b++)
		if (need[b])
			lengths[nlengths++] = b;
	/* From the widest down; narrower only adds patches, so stop when those alone cost too much. */
	for (unsigned i = nlengths; i-- > 0;) {
		unsigned width = lengths[i] < FORPACK_WIDTH_MAX ? lengths[i] : FORPACK_WIDTH_MAX;
		size_t cost = 0;

		for (unsigned k = i + 1; k < nlengths; k++)
			cost += need[lengths[k]] * patch_bytes(lengths[k], width);
		if (lengths[i] > width)
			cost += need[lengths[i]] * patch_bytes(lengths[i], width);
		if (cost >= best_cost)
			break;
		cost += packed_bytes(n, width);
		if (cost < best_cost) {
			best_cost = cost;
			best = width;
		}
	}
	return best;
}

/* Eight values of one width stand in `width` bytes; what is written behind those is written over by the next eight. */
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

/* One group on its way: what its values are above the smallest of them, and how many bits that takes. */
struct group {
	uint64_t above[FORPACK_GROUP];
	uint8_t bits[FORPACK_GROUP]; /* of those that are there, and 0 behind them */
	uint8_t need[65];	     /* how many take so many */
	uint64_t base, any;	     /* all bits of above */
};

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

/* The same for values below 2^31, in four lanes at a time: the exponent of v as a float. The bit below the highest is
 * cleared, so that nothing rounds up to the next power of two. */
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

static void measure_plain(struct group *g, const uint64_t *v)
{
	uint8_t need[NEEDS][72] = { 0 };

	level(g, v);
	if (g->any >> 31)
		for (size_t i = 0; i < FORPACK_GROUP; i++)
			g->bits[i] = (uint8_t)bits_of(g->above[i]);
	else
		bits_of_group(g->above, g->bits);
	for (size_t i = 0; i < FORPACK_GROUP; i++)
		need[i % NEEDS][g->bits[i]]++;
	for (size_t i = 0; i < sizeof(g->need); i++)
		g->need[i] = (uint8_t)(need[0][i] + need[1][i] + need[2][i] + need[3][i]);
}

static unsigned patches_plain(const struct group *g, unsigned width,
			      uint8_t patches[FORPACK_GROUP + 1])
{
	unsigned n = 0;

	for (unsigned i = 0; i < FORPACK_GROUP; i++) {
		patches[n] = (uint8_t)i;
		n += g->bits[i] > width;
	}
	return n;
}

#if CPU_X86
#include <immintrin.h>

static inline CPU_AVX2 __m256i load32(const void *p)
{
	return _mm256_loadu_si256(p);
}

/* How many bits eight numbers below 2^31 take: see bits_of_group. */
static inline CPU_AVX2 __m256i bits_of_eight(const uint64_t *v)
{
	__m256i x = _mm256_castps_si256(_mm256_shuffle_ps(
		_mm256_castsi256_ps(load32(v)), _mm256_castsi256_ps(load32(v + 4)), 0x88));

	x = _mm256_castps_si256(
		_mm256_cvtepi32_ps(_mm256_andnot_si256(_mm256_srli_epi32(x, 1), x)));
	x = _mm256_sub_epi32(_mm256_srli_epi32(x, 23), _mm256_set1_epi32(126));
	return _mm256_max_epi32(x, _mm256_setzero_si256());
}

static CPU_AVX2 void measure_avx2(struct group *g, const uint64_t *v)
{
	unsigned most;

	level(g, v);
	most = bits_of(g->any);
	if (most > 31)
		for (size_t i = 0; i < FORPACK_GROUP; i++)
			g->bits[i] = (uint8_t)bits_of(g->above[i]);
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
	memset(g->need, 0, sizeof(g->need));
	for (unsigned b = 0; b <= most; b++) {
		const __m256i is = _mm256_set1_epi8((char)b);
		__m256i n = _mm256_setzero_si256(), zero = n, sums;

		for (size_t i = 0; i < FORPACK_GROUP; i += 32)
			n = _mm256_sub_epi8(n, _mm256_cmpeq_epi8(load32(g->bits + i), is));
		sums = _mm256_sad_epu8(n, zero);
		g->need[b] =
			(uint8_t)(_mm256_extract_epi64(sums, 0) + _mm256_extract_epi64(sums, 1) +
				  _mm256_extract_epi64(sums, 2) + _mm256_extract_epi64(sums, 3));
	}
}

static CPU_AVX2 unsigned patches_avx2(const struct group *g, unsigned width,
				      uint8_t patches[FORPACK_GROUP + 1])
{
	const __m256i above = _mm256_set1_epi8((char)width);
	unsigned n = 0;

	for (unsigned i = 0; i < FORPACK_GROUP; i += 32) {
		unsigned more = (unsigned)_mm256_movemask_epi8(
			_mm256_cmpgt_epi8(load32(g->bits + i), above));

		for (; more; more &= more - 1)
			patches[n++] = (uint8_t)(i + (unsigned)__builtin_ctz(more));
	}
	return n;
}

#define BEST(what) (cpu_has_avx2() ? what##_avx2 : what##_plain)
#else
#define BEST(what) what##_plain
#endif

static void put_group(struct buf *out, const uint64_t *v, size_t n)
{
	unsigned char packed[FORPACK_GROUP * 7 + 8], head[2];
	uint8_t patches[FORPACK_GROUP + 1];
	uint64_t whole[FORPACK_GROUP];
	struct group g;
	unsigned width, npatch;

	/* A short group is filled up with a value of its own, which is not counted then. */
	for (size_t i = 0; n < FORPACK_GROUP && i < FORPACK_GROUP; i++)
		whole[i] = v[i < n ? i : 0];
	BEST(measure)(&g, n < FORPACK_GROUP ? whole : v);
	for (size_t i = n; i < FORPACK_GROUP; i++) {
		g.need[g.bits[i]]--;
		g.above[i] = g.bits[i] = 0;
	}
	width = choose_width(g.need, n);
	packers[width](packed, g.above);
	npatch = BEST(patches)(&g, width, patches);
	head[0] = (uint8_t)width;
	head[1] = (uint8_t)npatch;
	buf_add(out, head, 2);
	varint_put(out, g.base);
	buf_add(out, packed, packed_bytes(n, width));
	for (unsigned i = 0; i < npatch; i++) {
		buf_add(out, &patches[i], 1);
		varint_put(out, g.above[patches[i]] >> width);
	}
}

void forpack_put(struct buf *out, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i += FORPACK_GROUP)
		put_group(out, v + i, n - i < FORPACK_GROUP ? n - i : FORPACK_GROUP);
}
