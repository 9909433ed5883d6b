/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of the mappings that processes run code in, as the kernel side walks stacks by them.
 * Processes that map the same, as forked ones do, share one list. A list never changes; one that
 * nobody uses any more goes from the kernel's memory.
 */
#ifndef INGERO_ATTACH_UNWIND_LISTS_H
#define INGERO_ATTACH_UNWIND_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind_rule.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/attach/unwind_room.h"

struct unwind_list {
	uint64_t hash; /* of what it says */
	uint32_t generation;
	uint32_t users; /* 0: the number is free */
	uint32_t n;
	struct unwind_mapping *mappings; /* n, sorted */
	struct unwind_place place;
};

struct unwind_lists {
	struct unwind_room room;
	VEC(struct unwind_list) v;	   /* by number */
	VEC(uint32_t) free;		   /* numbers */
	struct map by_hash, by_generation; /* -> number */
	uint32_t generation;		   /* given last */
	size_t bytes;			   /* of all */
};

void unwind_lists_init(struct unwind_lists *l, struct probe_session *session);
void unwind_lists_free(struct unwind_lists *l);

/* The list that says this, for one user more: as in struct unwind_process. 0: no memory. is_new:
 * nobody used it before, so that its modules have a user more. */
uint64_t unwind_lists_take(struct unwind_lists *l, const struct unwind_mapping *mappings,
			   uint32_t n, bool *is_new);
/* One user more of a list that the kernel side gave on. False: it is gone. */
bool unwind_lists_share(struct unwind_lists *l, uint64_t list);

typedef void unwind_list_gone_fn(void *ctx, const struct unwind_mapping *m);
/* Drops one reference; calls gone for each mapping of a list without references. True: the list was
 * freed. */
bool unwind_lists_drop(struct unwind_lists *l, uint64_t list, unwind_list_gone_fn *gone, void *ctx);

#endif
