/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers as bytes, written field by field: varints, fixed numbers, text and messages
 * within messages. The caller knows the schema; proto3's rule that zero is the same as absent is
 * the caller's to use.
 */
#ifndef INGERO_BASE_PROTOW_H
#define INGERO_BASE_PROTOW_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

void proto_varint(struct buf *out, uint64_t v); /* a bare number, as in packed fields */
void proto_u64(struct buf *out, unsigned field, uint64_t v);
void proto_i64(struct buf *out, unsigned field,
	       int64_t v); /* int64, not sint64: negative ones take 10 bytes */
void proto_bytes(struct buf *out, unsigned field, struct bytes v);
void proto_text(struct buf *out, unsigned field, const char *v);

/* A message as a field: what is added between the two is its content. Returns where it begins. */
size_t proto_begin(struct buf *out, unsigned field);
void proto_end(struct buf *out, size_t begin);

#endif
