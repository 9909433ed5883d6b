/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse columns of one EVENTS block: each is a queue that rows whose op lists it take their next
 * value from. Nothing in here points into the block once it is taken apart.
 */
#ifndef INGERO_IGE_SPARSE_H
#define INGERO_IGE_SPARSE_H

#include "lib/ige/dict_reader.h"

#define IGE_SPARSE_MAX 64 /* sparse columns of one block; more are passed by */

/* Where a column's values lie in values, and how far rows have taken them. */
struct ige_queue {
	uint16_t id;
	bool have;   /* its values were met */
	bool gaps;   /* presence bits tell which rows have one; else every row */
	size_t bits; /* first of them, in struct ige_sparse's bits */
	uint32_t nbits, bit;
	size_t at, end;
};

/* Where the values of an op's sparse columns come from in the current block. */
struct ige_plan {
	uint64_t block;
	unsigned n;
	struct {
		uint8_t queue, column; /* the op's, as the file has it */
		int8_t to, kind;       /* as in struct ige_file_op */
	} take[OP_COLUMNS_MAX];
};

struct ige_sparse {
	VEC(uint64_t) values; /* of all queues, one after another */
	VEC(unsigned char) bits;
	struct ige_queue queue[IGE_SPARSE_MAX];
	unsigned n;
	uint64_t block;		    /* counts up: a plan of another block is stale */
	VEC(struct ige_plan) plans; /* by the op's layout in dict */
	VEC(bool)
	idle; /* the same: nothing is taken in this block, as is known of most after their first
		 event */
};

void ige_sparse_free(struct ige_sparse *s);

/* All sparse columns of a checked block. ERR_TOO_NEW: a critical one is encoded in a way this
 * program does not know. A damaged one costs only its own values; *partial is set, and the reason
 * in e. */
int ige_sparse_decode(struct ige_sparse *s, const struct ige_dict_reader *dict,
		      const struct ige_view *v, bool *partial, struct err *e);

/* What the events of a site take, in the order of their op's columns. */
const struct ige_plan *ige_sparse_find_plan(struct ige_sparse *s,
					    const struct ige_dict_reader *dict, uint32_t layout);
static inline const struct ige_plan *ige_sparse_plan(struct ige_sparse *s,
						     const struct ige_dict_reader *dict,
						     uint32_t layout)
{
	/* Looked up at the op's first event in the block. */
	return s->plans.v[layout].block == s->block ? &s->plans.v[layout]
						    : ige_sparse_find_plan(s, dict, layout);
}

/* The next value of a queue; false: this row has none. */
static inline bool ige_sparse_take(struct ige_sparse *s, unsigned queue, uint64_t *value)
{
	struct ige_queue *q = &s->queue[queue];

	if (q->gaps) {
		uint32_t bit = q->bit++;

		if (bit >= q->nbits || !(s->bits.v[q->bits + bit / 8] >> bit % 8 & 1))
			return false;
	}
	if (q->at == q->end)
		return false;
	*value = s->values.v[q->at++];
	return true;
}

#endif
