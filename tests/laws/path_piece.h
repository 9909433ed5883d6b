/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece of a path that outlives its telling.
 */
#ifndef INGERO_TESTS_LAWS_PATH_PIECE_H
#define INGERO_TESTS_LAWS_PATH_PIECE_H

#include "lib/path/path.h"

struct run_piece {
	uint32_t anchor, thread;
	int64_t from_ns, to_ns;
	struct segment s;
	uint32_t occupant;
	unsigned depth;
	uint32_t via, waiter, holder;
	enum segment_lock lock;
};

static inline struct run_piece run_piece_of(const struct path_piece *p)
{
	return (struct run_piece){ .anchor = p->anchor,
				   .thread = p->thread,
				   .from_ns = p->from_ns,
				   .to_ns = p->to_ns,
				   .s = *p->s,
				   .occupant = p->occupant,
				   .depth = p->depth,
				   .via = p->via,
				   .lock = p->lock,
				   .waiter = p->waiter,
				   .holder = p->holder };
}

/* As it was told, without the number of its segment. */
static inline struct path_piece path_piece_of(const struct run_piece *p)
{
	return (struct path_piece){ .anchor = p->anchor,
				    .thread = p->thread,
				    .from_ns = p->from_ns,
				    .to_ns = p->to_ns,
				    .s = &p->s,
				    .occupant = p->occupant,
				    .depth = p->depth,
				    .via = p->via,
				    .lock = p->lock,
				    .waiter = p->waiter,
				    .holder = p->holder };
}

#endif
