/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers as bytes: little-endian fixed widths at any address, and LEB128 varints. Works on any
 * byte order and alignment.
 */
#ifndef INGERO_BASE_WIREBYTES_H
#define INGERO_BASE_WIREBYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"

static inline uint64_t le_get(const void *p, unsigned width)
{
	const unsigned char *b = p;
	uint64_t v = 0;

	for (unsigned i = width; i-- > 0;)
		v = v << 8 | b[i];
	return v;
}

static inline void le_put(void *p, unsigned width, uint64_t v)
{
	unsigned char *b = p;

	for (unsigned i = 0; i < width; i++, v >>= 8)
		b[i] = (unsigned char)v;
}

static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

/* A varint takes at most 10 bytes. */
static inline void varint_put(struct buf *b, uint64_t v)
{
	char bytes[10];
	unsigned n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (char)(v | 0x80);
	bytes[n++] = (char)v;
	buf_add(b, bytes, n);
}

/* A place in outside bytes. Reading past the end or a varint of over 10 bytes sets failed, which sticks,
 * and gives 0. */
struct cursor {
	const unsigned char *p, *end;
	bool failed;
};

static inline uint64_t varint_get(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		unsigned char byte;

		if (c->p == c->end)
			break;
		byte = *c->p++;
		v |= (uint64_t)(byte & 0x7f) << (shift & 63);
		if (!(byte & 0x80))
			return v;
	}
	c->failed = true;
	return 0;
}

/* n bytes at the cursor, passed over; NULL when there are fewer. */
static inline const void *cursor_take(struct cursor *c, uint64_t n)
{
	const unsigned char *p = c->p;

	if (n > (uint64_t)(c->end - c->p)) {
		c->failed = true;
		return NULL;
	}
	c->p += n;
	return p;
}

#endif
