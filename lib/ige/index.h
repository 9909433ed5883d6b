/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of a segment: one row per block, so that a reader that can seek finds the blocks of a
 * time without looking at the others. It repeats what the blocks' own headers hold, and is used
 * only where it agrees with them. INDEX and TRAILER stand at the end of their segment,
 * in front of its LAST block; the trailer, of fixed length, is found from the end.
 */
#ifndef INGERO_IGE_INDEX_H
#define INGERO_IGE_INDEX_H

#include "lib/ige/block.h"

#define IGE_INDEX_MAX	  16384 /* rows: a writer that indexes ends the segment there */
#define IGE_TRAILER_BYTES 104	/* header, one directory entry, three numbers */

struct ige_index_row {
	uint64_t offset; /* from the beginning of the segment */
	uint32_t length, n, lost;
	uint8_t type, flags;
	int64_t end_min, end_max;
	int64_t start_min; /* in a file: the smallest of this and all later events blocks */
	uint64_t ops;	   /* bit ige_op_bit(op) of each op in it; all ones: not known */
};

/* Which bit stands for an op. Others may share it. */
static inline uint64_t ige_op_bit(uint16_t op)
{
	return UINT64_C(1) << (((op >> 8) * 24 + (op & 0xff)) & 63);
}

/* ---- writing ---- */

/* Zero-initialised is empty. */
struct ige_index {
	VEC(struct ige_index_row) rows;
	uint64_t offset; /* where the next block begins */
};
/* Take in what was written: a segment header, which begins anew, or whole blocks. ops: of the
 * events in them. False: out of memory. */
bool ige_index_add(struct ige_index *x, const void *p, size_t n, uint64_t ops);
/* INDEX and TRAILER appended to out; *seq is counted up. */
int ige_index_seal(struct ige_index *x, struct ige_builder *b, uint64_t *seq, struct buf *out,
		   struct err *e);
void ige_index_free(struct ige_index *x);

/* ---- reading ---- */

struct ige_trailer {
	uint64_t to_index, to_segment; /* bytes back from the trailer's first */
	uint64_t rows;
	uint32_t tag;
};
/* Both: false when the bytes are anything but a sound one. */
bool ige_trailer_take(struct ige_trailer *t, const unsigned char in[IGE_TRAILER_BYTES]);
/* The block's rows, replacing those in x; that they lie one behind the other is checked, x->offset
 * is the end. */
bool ige_index_take(struct ige_index *x, const struct ige_view *v);
/* Whether a row says what its block's header says; start_min aside, which is the smallest of
 * several. */
bool ige_index_agrees(const struct ige_index_row *row, const struct ige_header *h);

#endif
