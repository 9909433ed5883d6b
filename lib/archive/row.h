/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of an SQLite database: a header that says of what type and length each column is, then
 * the columns. Those that are left out at the end are NULL, or their default.
 */
#ifndef INGERO_ARCHIVE_ROW_H
#define INGERO_ARCHIVE_ROW_H

#include <stdint.h>
#include <string.h>

#include "lib/archive/pages.h"
#include "lib/base/bytes.h"

#define ROW_COLUMNS_MAX 200
#define ROW_TEXT_MAX	255 /* longer texts are cut by who adds them */

/* head_end: of the last column that is not NULL. */
struct row {
	uint8_t head[2 * ROW_COLUMNS_MAX], body[ARCHIVE_ROW_MAX + 8];
	unsigned head_n, head_end, body_n;
};

static inline void row_begin(struct row *r)
{
	r->head_n = r->head_end = r->body_n = 0;
}

static inline void row_null(struct row *r)
{
	r->head[r->head_n++] = 0;
}

static inline void row_nulls(struct row *r, unsigned n)
{
	memset(r->head + r->head_n, 0, n);
	r->head_n += n;
}

static inline void row_int(struct row *r, int64_t x)
{
	static const uint8_t type_of[9] = { 1, 1, 2, 3, 4, 5, 5, 6, 6 };
	static const uint8_t bytes_of_type[7] = { 0, 1, 2, 3, 4, 6, 8 };
	uint64_t big;
	unsigned type, n;

	if ((uint64_t)x <= 1) {
		r->head[r->head_n++] = (uint8_t)(8 + x);
		r->head_end = r->head_n;
		return;
	}
	/* bits that hold it with its sign, in whole bytes; there is no type for 5 and none for 7 */
	n = (65 - (unsigned)__builtin_clzll((uint64_t)(x ^ (x >> 63)) | 1) + 7) / 8;
	type = type_of[n];
	r->head[r->head_n++] = (uint8_t)type;
	r->head_end = r->head_n;
	n = bytes_of_type[type];
	big = __builtin_bswap64((uint64_t)x << (64 - 8 * n));
	memcpy(r->body + r->body_n, &big, 8); /* body has room beyond */
	r->body_n += n;
}

/* At most ROW_TEXT_MAX bytes; blob where it is not to be text. */
void row_text(struct row *r, struct bytes text);

/* Columns that many rows have in common; the last of them is not NULL. bytes: head, then body. */
struct row_part {
	unsigned head_n, body_n;
	uint8_t bytes[];
};

static inline void row_add(struct row *r, const struct row_part *part)
{
	memcpy(r->head + r->head_n, part->bytes, part->head_n);
	memcpy(r->body + r->body_n, part->bytes + part->head_n, part->body_n);
	r->head_end = r->head_n += part->head_n;
	r->body_n += part->body_n;
}

/* How long the finished record is, and itself: header and columns. */
unsigned row_bytes(const struct row *r);
void row_put(const struct row *r, uint8_t *to);

#endif
