/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of an open block, bound up for another thread that makes the block of them, while their own memory takes the next ones.
 * Not of the smallest form.
 */
#ifndef INGERO_IGE_BALE_H
#define INGERO_IGE_BALE_H

#include "lib/ige/events.h"

/* Numbers of a column, or bytes, and where they lie in a bale. */
struct ige_packed {
	size_t at, n;
	unsigned width; /* 1, 4 or 8 */
};

struct ige_baled {
	uint16_t id;
	bool gaps;
	struct ige_packed values, eligible;
};

struct ige_bale {
	unsigned char *bytes; /* written by who binds, and by nobody else */
	size_t cap;
	size_t n; /* rows */
	struct ige_packed own[IGE_DEPTH + 1];
	VEC(struct ige_baled) extras;
	/* Of who makes the block: numbers as they are packed, and sparse columns. */
	VEC(uint64_t) near;
	struct ige_rows rows;
};

/* r is empty then, with all its memory. h: as for ige_rows_seal. False: out of memory, and r as it was. */
bool ige_bale_bind(struct ige_bale *b, struct ige_rows *r, struct ige_header *h);
/* Not less than the bytes that the block will be. */
size_t ige_bale_bound(const struct ige_bale *b);
/* The block appended to out, with the header that was filled in before. */
int ige_bale_seal(struct ige_bale *b, struct ige_builder *builder, struct ige_header *h,
		  struct buf *out, struct err *e);
void ige_bale_free(struct ige_bale *b);

#endif
