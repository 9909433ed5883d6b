/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The width of a group is found from how many values need how many bits: only widths that occur are
 * tried. Unpacking has one loop per width, so that every shift is a constant.
 */
#include "lib/ige/forpack.h"

#include <endian.h>
#include <string.h>

#include "lib/base/wirebytes.h"

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

static void put_group(struct buf *out, const uint64_t *v, size_t n)
{
	unsigned char packed[FORPACK_GROUP * 7 + 16], *at = packed;
	uint8_t need[65] = { 0 }, bits[FORPACK_GROUP], patches[FORPACK_GROUP], head[2];
	uint64_t base = v[0], pending = 0, mask;
	unsigned width, filled = 0, npatch = 0;

	for (size_t i = 1; i < n; i++)
		if (v[i] < base)
			base = v[i];
	for (size_t i = 0; i < n; i++) {
		bits[i] = (uint8_t)bits_of(v[i] - base);
		need[bits[i]]++;
	}
	width = choose_width(need, n);
	mask = width ? ~0ull >> (64 - width) : 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t low = (v[i] - base) & mask;

		if (bits[i] > width)
			patches[npatch++] = (uint8_t)i;
		pending |= low << filled;
		filled += width;
		if (filled >= 64) {
			le_put(at, 8, pending);
			at += 8;
			filled -= 64;
			pending = filled ? low >> (width - filled) : 0;
		}
	}
	for (; filled > 0; filled = filled > 8 ? filled - 8 : 0, pending >>= 8)
		*at++ = (unsigned char)pending;
	head[0] = (uint8_t)width;
	head[1] = (uint8_t)npatch;
	buf_add(out, head, 2);
	varint_put(out, base);
	buf_add(out, packed, packed_bytes(n, width));
	for (unsigned i = 0; i < npatch; i++) {
		buf_add(out, &patches[i], 1);
		varint_put(out, (v[patches[i]] - base) >> width);
	}
}

void forpack_put(struct buf *out, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i += FORPACK_GROUP)
		put_group(out, v + i, n - i < FORPACK_GROUP ? n - i : FORPACK_GROUP);
}

static inline uint64_t load8(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

/* Eight values of one width stand in `width` bytes: offsets and shifts are constants of the loop. */
#define UNPACK(w)                                                                       \
	static void unpack_##w(const unsigned char *p, uint64_t *v, uint64_t base)      \
	{                                                                               \
		const uint64_t mask = w ? ~0ull >> ((64 - w) & 63) : 0;                 \
		for (unsigned i = 0; i < FORPACK_GROUP; i += 8, p += w) {               \
			v[i] = base + (load8(p) & mask);                                \
			v[i + 1] = base + (load8(p + 1 * w / 8) >> (1 * w % 8) & mask); \
			v[i + 2] = base + (load8(p + 2 * w / 8) >> (2 * w % 8) & mask); \
			v[i + 3] = base + (load8(p + 3 * w / 8) >> (3 * w % 8) & mask); \
			v[i + 4] = base + (load8(p + 4 * w / 8) >> (4 * w % 8) & mask); \
			v[i + 5] = base + (load8(p + 5 * w / 8) >> (5 * w % 8) & mask); \
			v[i + 6] = base + (load8(p + 6 * w / 8) >> (6 * w % 8) & mask); \
			v[i + 7] = base + (load8(p + 7 * w / 8) >> (7 * w % 8) & mask); \
		}                                                                       \
	}

/* clang-format off */
#define EACH_WIDTH(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) \
	X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) \
	X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) \
	X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) \
	X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) \
	X(50) X(51) X(52) X(53) X(54) X(55) X(56)
/* clang-format on */

EACH_WIDTH(UNPACK)

typedef void unpack_fn(const unsigned char *p, uint64_t *v, uint64_t base);

#define NAME(w) unpack_##w,
static unpack_fn *const unpack[] = { EACH_WIDTH(NAME) };

/* The last load of a group reads up to 8 bytes past it. */
#define OVERREAD 8

static bool get_group(struct cursor *c, uint64_t *v, size_t n)
{
	unsigned char tail[FORPACK_GROUP * 7 + OVERREAD];
	const unsigned char *head = cursor_take(c, 2), *p;
	unsigned width, npatch;
	uint64_t base;
	size_t bytes;

	if (!head)
		return false;
	width = head[0];
	npatch = head[1];
	base = varint_get(c);
	if (c->failed || width > FORPACK_WIDTH_MAX || npatch > n)
		return false;
	bytes = packed_bytes(n, width);
	p = cursor_take(c, bytes);
	if (!p)
		return false;
	if (n < FORPACK_GROUP || (size_t)(c->end - c->p) < OVERREAD) {
		memcpy(tail, p, bytes);
		memset(tail + bytes, 0, sizeof(tail) - bytes);
		p = tail;
	}
	unpack[width](p, v, base);
	for (unsigned i = 0; i < npatch; i++) {
		const unsigned char *index = cursor_take(c, 1);
		uint64_t high = varint_get(c);

		if (!index || c->failed || *index >= n)
			return false;
		v[*index] += high << width;
	}
	return true;
}

bool forpack_get(const unsigned char *p, size_t len, uint64_t *v, size_t n)
{
	struct cursor c = { p, p + len, false };

	for (size_t i = 0; i < n; i += FORPACK_GROUP)
		if (!get_group(&c, v + i, n - i < FORPACK_GROUP ? n - i : FORPACK_GROUP))
			return false;
	return c.p == c.end;
}
