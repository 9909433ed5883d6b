/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of an open block, bound up for another thread that makes the block of them, while their own
 * memory takes the next ones. Not of the smallest form.
 */
#ifndef INGERO_IGE_BLOCK_JOB_H
#define INGERO_IGE_BLOCK_JOB_H

#include "lib/ige/events.h"

/* Numbers of a column, or bytes, and where they lie in a bale. */
struct ige_packed {
	size_t at, n;
	unsigned width; /* 1, 4 or 8 */
};

struct ige_block_job_column {
	uint16_t id;
	bool gaps;
	struct ige_packed values, eligible;
};

struct ige_block_job {
	unsigned char *bytes; /* written by who binds, and by nobody else */
	size_t cap;
	size_t n; /* rows */
	struct ige_packed own[IGE_DEPTH + 1];
	VEC(struct ige_block_job_column) extras;
	/* Of who makes the block: numbers as they are packed, and sparse columns. */
	VEC(uint64_t) near;
	struct ige_rows rows;
};

/* r is empty then, with all its memory. h: as for ige_rows_seal. False: out of memory, and r as it
 * was. */
bool ige_block_job_bind(struct ige_block_job *b, struct ige_rows *r, struct ige_header *h);
/* Not less than the bytes that the block will be. */
size_t ige_block_job_bound(const struct ige_block_job *b);
/* The block appended to out, with the header that was filled in before. */
int ige_block_job_seal(struct ige_block_job *b, struct ige_builder *builder, struct ige_header *h,
		       struct buf *out, struct err *e);
void ige_block_job_free(struct ige_block_job *b);

#endif
