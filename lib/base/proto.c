/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protobuf messages within messages. A message's length precedes it but is known only at its
 * end: one byte is reserved, and the message is moved up if the length needs more.
 */
#include "lib/base/proto.h"

size_t proto_begin(struct buf *out, unsigned field)
{
	varint_put(out, field << 3 | PROTO_BYTES);
	buf_putc(out, 0);
	return out->n;
}

void proto_end(struct buf *out, size_t begin)
{
	char length[PROTO_FIELD_MAX];
	size_t size, n;

	if (out->failed || begin > out->n)
		return;
	size = out->n - begin;
	n = (size_t)(proto_at_varint(length, size) - length);
	if (n > 1) {
		if (!buf_reserve(out, n - 1))
			return;
		memmove(out->p + begin + n - 1, out->p + begin, size);
		buf_added(out, n - 1);
	}
	memcpy(out->p + begin - 1, length, n);
}
