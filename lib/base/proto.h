/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf messages as bytes: enough of the wire format to write some by hand. A field is a tag
 * (its number and how it is encoded) and a value; a message inside a message stands behind its
 * length. Two forms: into a buffer, and, for what is written millions of times, to an address with
 * room enough. The caller knows the schema; proto3's rule that zero is the same as absent is the
 * caller's to use.
 */
#ifndef INGERO_BASE_PROTO_H
#define INGERO_BASE_PROTO_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/wirebytes.h"

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

#define PROTO_FIELD_MAX 15 /* bytes of a number with its tag: 5 and 10 */

static inline char *proto_at_varint(char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (char)(v | 0x80);
	*p++ = (char)v;
	return p;
}

static inline char *proto_at_u64(char *p, unsigned field, uint64_t v)
{
	return proto_at_varint(proto_at_varint(p, field << 3 | PROTO_VARINT), v);
}

static inline char *proto_at_fixed64(char *p, unsigned field, uint64_t v)
{
	p = proto_at_varint(p, field << 3 | PROTO_FIXED64);
	le_put(p, 8, v);
	return p + 8;
}

static inline char *proto_at_double(char *p, unsigned field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return proto_at_fixed64(p, field, bits);
}

static inline void proto_u64(struct buf *b, unsigned field, uint64_t v)
{
	varint_put(b, field << 3 | PROTO_VARINT);
	varint_put(b, v);
}

/* Text, bytes, and messages that are finished. */
static inline void proto_bytes(struct buf *b, unsigned field, struct bytes v)
{
	varint_put(b, field << 3 | PROTO_BYTES);
	varint_put(b, v.n);
	buf_add(b, v.p, v.n);
}

/* A message as a field: what is added between the two is its content. Returns where it begins. */
size_t proto_begin(struct buf *out, unsigned field);
void proto_end(struct buf *out, size_t begin);

#endif
