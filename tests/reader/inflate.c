/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/base/deflate.h without zlib, for tests on other CPUs, where there is no zlib to link: RFC
 * 1950 and 1951 read in the plainest way, written as stored blocks. Knows no other limit than the
 * caller's.
 */
#include "lib/base/deflate.h"

#include "lib/base/wirebytes.h"

uint32_t crc_bytes(uint32_t crc, const void *p, size_t n)
{
	const unsigned char *at = p;

	crc = ~crc;
	while (n--) {
		crc ^= *at++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static uint32_t adler(const void *p, size_t n)
{
	const unsigned char *at = p;
	uint32_t a = 1, b = 0;

	while (n--) {
		a = (a + *at++) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

static void put_big(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (24 - 8 * i));
}

int deflate_bytes(struct buf *out, const void *p, size_t n, int level, struct err *e)
{
	const unsigned char *at = p;
	unsigned char sum[4];
	size_t left = n;

	buf_add(out, "\x78\x01", 2);
	do {
		size_t part = left < 65535 ? left : 65535;
		unsigned char head[5] = { part == left };

		le_put(head + 1, 2, part);
		le_put(head + 3, 2, ~part & 0xffff);
		buf_add(out, head, 5);
		buf_add(out, at, part);
		at += part;
		left -= part;
	} while (left);
	put_big(sum, adler(p, n));
	buf_add(out, sum, 4);
	return out->failed ? err_nomem(e) : 0;
}

struct bits {
	const unsigned char *p, *end;
	uint32_t held;
	unsigned n;
	bool failed;
};

static uint32_t take(struct bits *b, unsigned n)
{
	uint32_t v;

	while (b->n < n) {
		if (b->p == b->end) {
			b->failed = true;
			return 0;
		}
		b->held |= (uint32_t)*b->p++ << b->n;
		b->n += 8;
	}
	v = b->held & ((1u << n) - 1);
	b->held >>= n;
	b->n -= n;
	return v;
}

/* Canonical codes: how many there are of each length, and their symbols in order. */
struct code {
	uint16_t count[16], symbol[288];
};

/* False: more codes than fit. */
static bool build(struct code *c, const uint8_t *length, unsigned n)
{
	uint16_t at[16] = { 0 };
	int left = 1;

	memset(c->count, 0, sizeof(c->count));
	for (unsigned i = 0; i < n; i++)
		c->count[length[i]]++;
	c->count[0] = 0;
	for (unsigned l = 1; l < 16; l++) {
		left = left * 2 - c->count[l];
		if (left < 0)
			return false;
		if (l < 15)
			at[l + 1] = (uint16_t)(at[l] + c->count[l]);
	}
	for (unsigned i = 0; i < n; i++)
		if (length[i])
			c->symbol[at[length[i]]++] = (uint16_t)i;
	return true;
}

static unsigned symbol(struct bits *b, const struct code *c)
{
	int code = 0, first = 0, index = 0;

	for (unsigned l = 1; l < 16 && !b->failed; l++) {
		code |= (int)take(b, 1);
		if (code - c->count[l] < first)
			return c->symbol[index + code - first];
		index += c->count[l];
		first = (first + c->count[l]) * 2;
		code *= 2;
	}
	b->failed = true;
	return 0;
}

static bool read_codes(struct bits *b, struct code *literals, struct code *distances)
{
	static const uint8_t order[19] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
					   11, 4,  12, 3, 13, 2, 14, 1, 15 };
	uint8_t length[320] = { 0 }, small[19] = { 0 };
	unsigned nlit = take(b, 5) + 257, ndist = take(b, 5) + 1, nsmall = take(b, 4) + 4, i = 0;
	struct code c;

	for (unsigned k = 0; k < nsmall; k++)
		small[order[k]] = (uint8_t)take(b, 3);
	if (b->failed || nlit > 286 || !build(&c, small, 19))
		return false;
	while (i < nlit + ndist && !b->failed) {
		unsigned s = symbol(b, &c), times = 1;
		uint8_t l = (uint8_t)s;

		if (s == 16) {
			if (!i)
				return false;
			l = length[i - 1];
			times = take(b, 2) + 3;
		} else if (s > 16) {
			l = 0;
			times = s == 17 ? take(b, 3) + 3 : take(b, 7) + 11;
		}
		if (times > nlit + ndist - i)
			return false;
		while (times--)
			length[i++] = l;
	}
	return !b->failed && length[256] && build(literals, length, nlit) &&
	       build(distances, length + nlit, ndist);
}

static void fixed_codes(struct code *literals, struct code *distances)
{
	uint8_t length[288];

	for (unsigned i = 0; i < 288; i++)
		length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	build(literals, length, 288);
	memset(length, 5, 30);
	build(distances, length, 30);
}

/* 1: done, 0: too much for the limit, -1: damaged. */
static int inflate_codes(struct bits *b, const struct code *literals, const struct code *distances,
			 struct buf *out, size_t from, size_t limit)
{
	for (;;) {
		unsigned s = symbol(b, literals), n, distance, extra;

		if (b->failed)
			return -1;
		if (s == 256)
			return 1;
		if (s < 256) {
			if (out->n - from == limit)
				return 0;
			buf_putc(out, (char)s);
			continue;
		}
		s -= 257;
		if (s > 28)
			return -1;
		extra = s < 8 || s == 28 ? 0 : s / 4 - 1;
		n = s < 8 ? 3 + s : s == 28 ? 258 : 3 + ((4 + s % 4) << extra);
		n += take(b, extra);
		s = symbol(b, distances);
		if (s > 29)
			return -1;
		extra = s < 4 ? 0 : s / 2 - 1;
		distance = s < 4 ? 1 + s : 1 + ((2 + s % 2) << extra);
		distance += take(b, extra);
		if (b->failed || distance > out->n - from)
			return -1;
		if (n > limit - (out->n - from))
			return 0;
		while (n--)
			buf_putc(out, out->p[out->n - distance]);
	}
}

static int inflate_blocks(struct bits *b, struct buf *out, size_t from, size_t limit)
{
	struct code literals, distances;
	bool last;
	int rc = 1;

	do {
		unsigned kind;

		last = take(b, 1);
		kind = take(b, 2);
		if (b->failed || kind == 3)
			return -1;
		if (kind == 0) {
			size_t n;

			b->held = b->n = 0;
			if (b->end - b->p < 4 || le_get(b->p, 2) != (~le_get(b->p + 2, 2) & 0xffff))
				return -1;
			n = le_get(b->p, 2);
			b->p += 4;
			if (n > (size_t)(b->end - b->p))
				return -1;
			if (n > limit - (out->n - from))
				return 0;
			buf_add(out, b->p, n);
			b->p += n;
			continue;
		}
		if (kind == 1)
			fixed_codes(&literals, &distances);
		else if (!read_codes(b, &literals, &distances))
			return -1;
		rc = inflate_codes(b, &literals, &distances, out, from, limit);
	} while (!last && rc == 1);
	return rc;
}

int inflate_bytes(struct buf *out, const void *p, size_t n, size_t max_out, struct err *e)
{
	struct bits b = { p, (const unsigned char *)p + n, 0, 0, false };
	size_t from = out->n;
	unsigned char sum[4];
	int rc = -1;

	if (n >= 6 && (b.p[0] & 15) == 8 && (b.p[0] << 8 | b.p[1]) % 31 == 0 && !(b.p[1] & 32)) {
		b.p += 2;
		rc = inflate_blocks(&b, out, from, max_out);
	}
	if (rc == 0)
		return err_set(e, ERR_LIMIT, "compressed data unpacks to more than %zu bytes",
			       max_out);
	put_big(sum, out->p ? adler(out->p + from, out->n - from) : 1);
	if (rc < 0 || out->failed || b.end - b.p < 4 || memcmp(b.p, sum, 4))
		return err_set(e, ERR_DAMAGED, "compressed data is damaged or cut short");
	if (b.end - b.p > 4)
		return err_set(e, ERR_DAMAGED, "bytes follow the compressed data");
	return 0;
}
