/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing. The width of a group is found from how many values need how many bits: only widths that
 * occur are tried. Loops over a group have no branches and no chains longer than they must be, since
 * they run over every column of every event; packing has one loop per width, so that every shift is
 * a constant.
 */
#include <endian.h>
#include <string.h>

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

/* The same for values below 2^31, in four lanes at a time: the exponent of v as a float. The bit below the highest is
 * cleared, so that nothing rounds up to the next power of two. */
static void bits_of_group(const uint64_t *v, uint8_t *bits)
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

static void put_group(struct buf *out, const uint64_t *v, size_t n)
{
	unsigned char packed[FORPACK_GROUP * 7 + 8];
	uint8_t need[NEEDS][72] = { 0 }, bits[FORPACK_GROUP], patches[FORPACK_GROUP], head[2];
	uint64_t above[FORPACK_GROUP], lowest[4], base, any = 0;
	unsigned width, npatch = 0;
	size_t i;

	for (i = 0; i < 4; i++)
		lowest[i] = v[i < n ? i : 0];
	for (i = 4; i + 4 <= n; i += 4)
		for (size_t k = 0; k < 4; k++)
			lowest[k] = v[i + k] < lowest[k] ? v[i + k] : lowest[k];
	for (; i < n; i++)
		lowest[0] = v[i] < lowest[0] ? v[i] : lowest[0];
	lowest[0] = lowest[0] < lowest[1] ? lowest[0] : lowest[1];
	lowest[2] = lowest[2] < lowest[3] ? lowest[2] : lowest[3];
	base = lowest[0] < lowest[2] ? lowest[0] : lowest[2];
	for (i = 0; i < n; i++) {
		above[i] = v[i] - base;
		any |= above[i];
	}
	for (; i < FORPACK_GROUP; i++)
		above[i] = 0;
	if (any >> 31)
		for (i = 0; i < n; i++)
			bits[i] = (uint8_t)bits_of(above[i]);
	else
		bits_of_group(above, bits);
	for (i = 0; i < n; i++)
		need[i % NEEDS][bits[i]]++;
	for (i = 0; i < sizeof(need[0]); i++)
		for (unsigned k = 1; k < NEEDS; k++)
			need[0][i] = (uint8_t)(need[0][i] + need[k][i]);
	width = choose_width(need[0], n);
	packers[width](packed, above);
	for (i = 0; i < n; i++) {
		patches[npatch] = (uint8_t)i;
		npatch += bits[i] > width;
	}
	head[0] = (uint8_t)width;
	head[1] = (uint8_t)npatch;
	buf_add(out, head, 2);
	varint_put(out, base);
	buf_add(out, packed, packed_bytes(n, width));
	for (i = 0; i < npatch; i++) {
		buf_add(out, &patches[i], 1);
		varint_put(out, above[patches[i]] >> width);
	}
}

void forpack_put(struct buf *out, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i += FORPACK_GROUP)
		put_group(out, v + i, n - i < FORPACK_GROUP ? n - i : FORPACK_GROUP);
}
