/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the blocks of a file lie and what time they cover, without reading them. Indexes that hold
 * are used; the rest is found from header to header. Both give the same.
 */
#ifndef INGERO_IGE_BLOCK_INDEX_H
#define INGERO_IGE_BLOCK_INDEX_H

#include "lib/ige/block.h"
#include "lib/ige/reader.h"

#define IGE_PLACE_SEGMENT 0 /* a segment header, in the place of a block's type */

struct ige_place {
	uint64_t offset; /* in the file */
	uint64_t ops;	 /* see ige_op_bit; all ones: not known */
	int64_t end_min, end_max, start_min;
	int64_t reach;	/* smallest start of this and all later events blocks */
	int64_t passed; /* greatest end of this and all earlier ones */
	uint32_t length, n, lost, section;
	uint8_t type, flags;
};

/* What shares definitions. */
struct ige_section {
	size_t first, end; /* places */
};

struct ige_block_index {
	int fd;
	const char *name;
	uint64_t size;
	VEC(struct ige_place) list;
	VEC(struct ige_section) sections;
	uint64_t indexed;	  /* blocks known from an index */
	struct ige_report ending; /* how the file ends: truncated, unterminated, growing */
	struct buf bytes;
};

/* fd, name and size are set. ERR_CANNOT: it has to be read from its beginning. */
int ige_block_index_find(struct ige_block_index *p, struct err *e);
void ige_block_index_free(struct ige_block_index *p);

/* A whole block into p->bytes, which v borrows. ERR_DAMAGED: another one stands there. */
int ige_block_index_read(struct ige_block_index *p, uint64_t offset, uint32_t length,
			 struct ige_view *v, struct err *e);

#endif
