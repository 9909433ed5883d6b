/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the recorder shares with the kernel side, in chunks: each is a map of its own within
 * a map of maps. Putting one there takes the kernel a grace period, 10 ms and more; what is written
 * into a chunk is there at once.
 */
#ifndef INGERO_ATTACH_UNWIND_ROOM_H
#define INGERO_ATTACH_UNWIND_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/attach/session_unwind.h"

struct unwind_extent {
	uint32_t at, n;
};

struct unwind_chunk {
	void *memory; /* NULL: the number is free */
	uint32_t size;
	VEC(struct unwind_extent) used; /* sorted */
};

struct unwind_room {
	struct probe_session *session; /* borrowed */
	enum probe_unwind_kind kind;
	size_t each;	     /* bytes of an entry */
	uint32_t chunk_size; /* entries; what is larger than half of it has a chunk of its own */
	uint32_t chunks_max;
	VEC(struct unwind_chunk) v; /* by number */
};

struct unwind_place {
	uint32_t chunk, at;
};

/* Room for n entries. False: no memory for it. */
bool unwind_room_take(struct unwind_room *r, uint32_t n, struct unwind_place *out);
/* Where that is. */
void *unwind_room_memory(const struct unwind_room *r, struct unwind_place p);
/* Nobody reads there any more, or whoever does finds out by what stands there. */
void unwind_room_give(struct unwind_room *r, struct unwind_place p);
void unwind_room_free(struct unwind_room *r);

#endif
