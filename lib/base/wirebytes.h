/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integers as bytes: little-endian fixed widths at any address, and LEB128 varints. Works on any
 * byte order and alignment.
 */
#ifndef INGERO_BASE_WIREBYTES_H
#define INGERO_BASE_WIREBYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/buf.h"

static inline uint64_t le_get(const void *p, unsigned width)
{
	const unsigned char *b = p;
	uint64_t v = 0;
	uint32_t v4;
	uint16_t v2;

	/* Widths known to the compiler become one move. */
	switch (width) {
	case 8:
		memcpy(&v, p, 8);
		return le64toh(v);
	case 4:
		memcpy(&v4, p, 4);
		return le32toh(v4);
	case 2:
		memcpy(&v2, p, 2);
		return le16toh(v2);
	default:
		for (unsigned i = width; i-- > 0;)
			v = v << 8 | b[i];
		return v;
	}
}

static inline void le_put(void *p, unsigned width, uint64_t v)
{
	unsigned char *b = p;
	uint32_t v4 = htole32((uint32_t)v);
	uint16_t v2 = htole16((uint16_t)v);

	switch (width) {
	case 8:
		v = htole64(v);
		memcpy(p, &v, 8);
		break;
	case 4:
		memcpy(p, &v4, 4);
		break;
	case 2:
		memcpy(p, &v2, 2);
		break;
	default:
		for (unsigned i = 0; i < width; i++, v >>= 8)
			b[i] = (unsigned char)v;
	}
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

/* A place in outside bytes. Reading past the end or a varint of over 10 bytes sets failed, which
 * sticks, and gives 0. */
struct cursor {
	const unsigned char *p, *end;
	bool failed;
};

static inline uint64_t varint_get(struct cursor *c)
{
	const unsigned char *p = c->p;
	uint64_t v = 0;

	/* Most are small. */
	if (p != c->end && *p < 0x80) {
		c->p = p + 1;
		return *p;
	}
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (p == c->end)
			break;
		v |= (uint64_t)(*p & 0x7f) << (shift & 63);
		if (!(*p++ & 0x80)) {
			c->p = p;
			return v;
		}
	}
	c->p = p;
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
