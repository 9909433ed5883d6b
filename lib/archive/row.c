/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes rows of a table in SQLite's record format. Text that is not UTF-8 becomes a blob:
 * programs that read it as text would stop at it. */
#include "lib/archive/row.h"

#include "lib/base/utf8.h"

void row_text(struct row *r, struct bytes text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t n = 0, len = 1;

	while (n < text.n && (len = utf8_length(p + n, text.n - n)) && n + len <= ROW_TEXT_MAX)
		n += len;
	if (!len)
		n = text.n < ROW_TEXT_MAX ? text.n : ROW_TEXT_MAX;
	r->head_n += archive_varint_put(r->head + r->head_n, 12 + 2 * n + (len ? 1 : 0));
	r->head_end = r->head_n;
	if (n)
		memcpy(r->body + r->body_n, text.p, n);
	r->body_n += (unsigned)n;
}

unsigned row_bytes(const struct row *r)
{
	return r->head_end + (r->head_end < 127 ? 1 : 2) + r->body_n;
}

void row_put(const struct row *r, uint8_t *to)
{
	to += archive_varint_put(to, r->head_end + (r->head_end < 127 ? 1 : 2));
	memcpy(to, r->head, r->head_end);
	memcpy(to + r->head_end, r->body, r->body_n);
}
