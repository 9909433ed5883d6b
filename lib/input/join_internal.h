/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A join's inside, shared by join.c, which moves lanes from item to item, and join_rows.c, which
 * takes rows of sheets. Nobody else includes this.
 */
#ifndef INGERO_INPUT_JOIN_INTERNAL_H
#define INGERO_INPUT_JOIN_INTERNAL_H

#include "lib/ige/merge_columns.h"
#include "lib/input/join.h"
#include "lib/input/kway_merge.h"
#include "lib/input/tree.h"

#define BATCH 1024
#define REFS  4096 /* rows of sheets at a time */

/* Where a lane stands within a sheet, next to what the loops over rows need. end NULL: it has
 * events, or none. */
struct place {
	const uint64_t *end;
	uint64_t base; /* key of the sheet's earliest end */
	uint32_t next, n;
	bool rises; /* its ends do, and none of their keys is past the last there is */
};

struct lane {
	struct event_stream *stream;
	struct stream_item item;
	size_t next; /* event within item */
	int state;   /* 1 standing at item, 0 ended, < 0 failed: told once its turn comes */
	int64_t floor;
};

struct join {
	struct event_stream stream;
	const struct world *world;
	unsigned n;
	bool told;	  /* that all ended */
	uint64_t lost;	  /* told by lanes, not yet by us */
	uint64_t untimed; /* events given since the times of all lanes were looked at */
	struct input_tree tree;
	uint64_t *keys; /* of the first events, until the tree is built */
	bool built;
	unsigned unsettled; /* this lane was not brought to its next event yet; n: all were */
	struct err err;	    /* of the lane that failed */
	struct event batch[BATCH];
	uint32_t refs[REFS];
	int64_t ends[REFS];
	struct input_kway_merge strands;
	const struct ige_block_view **sheets; /* by lane; NULL: it has none */
	struct place *places;
	struct ige_merge_columns weave;
	struct lane lanes[];
};

/* Of the event that a lane stands at. */
static inline uint64_t join_key(const struct join *j, uint32_t lane)
{
	const struct lane *l = &j->lanes[lane];
	const struct place *p = &j->places[lane];

	if (l->state <= 0)
		return INPUT_TREE_ENDED;
	return p->end ? p->base + p->end[p->next] : input_tree_key(l->item.events[l->next].end_ns);
}

static inline struct event join_place(const struct join *j, uint32_t lane)
{
	const struct lane *l = &j->lanes[lane];

	return j->sheets[lane] ? ige_block_view_place(j->sheets[lane], j->places[lane].next)
			       : l->item.events[l->next];
}

/* At the first row of a sheet, where the lane's item has one. */
void join_stand(struct join *j, const struct lane *l);
/* The next rows of sheets into j->refs and j->ends, as many as stand there before an event, or a
 * sheet's end: the lane's next item takes its memory. */
size_t join_rows(struct join *j);

#endif
