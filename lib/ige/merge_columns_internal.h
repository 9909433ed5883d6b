/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the column merger, shared by merge_columns_known.c, which maps ids of inputs to
 * those of the segment being written, and merge_columns_write.c, which writes rows. Included
 * nowhere else.
 */
#ifndef INGERO_IGE_MERGE_COLUMNS_INTERNAL_H
#define INGERO_IGE_MERGE_COLUMNS_INTERNAL_H

#include "lib/ige/merge_columns.h"
#include "lib/ige/writer_internal.h"

/* An input's site in the output, in one number: its id, the layout of its op in the input
 * (LAYOUT_SHIFT) and the merger's class of its events (CLASS_SHIFT). */
#define PLAIN	     (UINT64_C(1) << 31) /* its events have no values but those that stand in it */
#define ID_MASK	     (PLAIN - 1)	 /* 0: it is not known here */
#define LAYOUT_SHIFT 32
#define CLASS_SHIFT  48
#define NUMBERS	     UINT16_MAX /* of layouts and classes */
/* An input's context in the output: its id, and this bit if it has one. */
#define KNOWN (UINT64_C(1) << 31)

/* Events of one op whose sites hold the same columns. Each event needs an entry in the extras of
 * every other column; for events of plain sites, which have no values there, the entries are added
 * for many rows at once. */
struct ige_woven_class {
	uint16_t op;
	unsigned args;
	uint64_t bit;	/* see ige_op_bit */
	uint32_t plain; /* rows whose entries in the extras are not added yet */
	uint64_t slots; /* a bit for each of them; those from 63 on share one */
	unsigned n;
	uint16_t slot[OP_COLUMNS_MAX];
};

/* Where the values of an op's columns come from that are not in its sites. */
struct ige_woven_op {
	uint64_t block; /* of the input: queues are those of one */
	bool learned;
	bool busy; /* in a block of this segment some had values: its sites are not plain */
	unsigned args;
	uint16_t class;
	uint64_t slots; /* of the class */
	unsigned n;
	struct ige_woven_left {
		uint16_t slot;
		uint8_t column;
		int8_t to;    /* world kind of what its values refer to here, -1: plain numbers */
		int8_t queue; /* -1: no event of this block has it */
		int8_t kind;  /* as `to`, in the input */
	} left[OP_COLUMNS_MAX];
};

/* What the loop over rows needs of one input. */
struct ige_stand {
	const uint64_t *dur, *ctx, *site, *depth;
	const uint64_t *known; /* by the input's site */
	const uint64_t *here;  /* by the input's context */
	uint64_t depths;       /* and-ed with a row: where its depth stands */
	uint32_t count, at;    /* of its rows among those being put down */
};
_Static_assert(sizeof(struct ige_stand) == 64, "one is found by a shift");

struct ige_woven {
	const struct ige_block_view *sheet;
	struct ige_sparse *sparse;
	uint64_t generation, written; /* segments read and written for which the maps are valid */
	uint64_t block;		      /* of the input's: the maps have room for its ids */
	size_t nread, nwritten; /* contexts defined, there and here, when they were looked at */
	VEC(uint64_t) sites;
	VEC(uint64_t) ctxs;
	VEC(struct ige_woven_op) ops; /* by layout */
};

/* Prepares all block views of a merge. 1; 0: not all of them can be written as rows; below 0: out
 * of memory. */
int ige_column_merger_ready(struct ige_writer *wr, const struct ige_merge_columns *v);
/* Maps contexts that were defined, in input and output, since the last call. */
void ige_column_merger_contexts(const struct ige_writer *wr, struct ige_woven *in);
/* Where the values of an op's columns come from in the input's block. */
void ige_column_merger_queues(const struct ige_woven *in, struct ige_woven_op *op, uint32_t layout,
			      const struct ige_dict_reader *dict);
/* The event just added has this site, `id` in the output: the site's next events are written as
 * rows. */
void ige_column_merger_learn(struct ige_writer *wr, struct ige_woven *in, uint64_t site,
			     uint32_t id, const struct op_def *def);

#endif
