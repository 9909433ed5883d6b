/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking. One loop per width, so that every shift is a constant. */
#include "lib/ige/forpack.h"

#include <endian.h>
#include <string.h>

#include "lib/base/wirebytes.h"

static size_t packed_bytes(size_t n, unsigned width)
{
	return (n * width + 7) / 8;
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

FORPACK_EACH_WIDTH(UNPACK)

typedef void unpack_fn(const unsigned char *p, uint64_t *v, uint64_t base);

#define NAME(w) unpack_##w,
static unpack_fn *const unpack[] = { FORPACK_EACH_WIDTH(NAME) };

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
