/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protobuf messages and fields into a buffer. A message's length precedes it but is known
 * only at its end: one byte is reserved, and the message is moved up if the length needs more.
 */
#include "lib/base/protow.h"

#include <string.h>

enum { VARINT = 0, LENGTH = 2 };

#define VARINT_MAX 10

static unsigned encode_varint(unsigned char *at, uint64_t v)
{
	unsigned n = 0;

	for (; v >= 0x80; v >>= 7)
		at[n++] = (unsigned char)(v | 0x80);
	at[n++] = (unsigned char)v;
	return n;
}

void proto_varint(struct buf *out, uint64_t v)
{
	unsigned char bytes[VARINT_MAX];

	buf_add(out, bytes, encode_varint(bytes, v));
}

static void put_tag(struct buf *out, unsigned field, unsigned type)
{
	proto_varint(out, (uint64_t)field << 3 | type);
}

void proto_u64(struct buf *out, unsigned field, uint64_t v)
{
	put_tag(out, field, VARINT);
	proto_varint(out, v);
}

void proto_i64(struct buf *out, unsigned field, int64_t v)
{
	proto_u64(out, field, (uint64_t)v);
}

void proto_bytes(struct buf *out, unsigned field, struct bytes v)
{
	put_tag(out, field, LENGTH);
	proto_varint(out, v.n);
	buf_add(out, v.p, v.n);
}

void proto_text(struct buf *out, unsigned field, const char *v)
{
	proto_bytes(out, field, bytes_of(v));
}

size_t proto_begin(struct buf *out, unsigned field)
{
	put_tag(out, field, LENGTH);
	buf_putc(out, 0);
	return out->n;
}

void proto_end(struct buf *out, size_t begin)
{
	unsigned char length[VARINT_MAX];
	unsigned n;
	size_t size;

	if (out->failed || begin > out->n)
		return;
	size = out->n - begin;
	n = encode_varint(length, size);
	if (n > 1) {
		if (!buf_reserve(out, n - 1))
			return;
		memmove(out->p + begin + n - 1, out->p + begin, size);
		buf_added(out, n - 1);
	}
	memcpy(out->p + begin - 1, length, n);
}
