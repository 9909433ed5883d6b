/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in a program that have to do with a device: looked up by device, line and op, and named as
 * what is to blame.
 */
#include "lib/detect/gpu_work_internal.h"

#include "lib/base/hash.h"

void *gpu_place_of(const struct gpu_work *g, struct tolls *kind, struct gpu_place place,
		   uint32_t line, bool *nomem)
{
	uint64_t key = hash_u64(((uint64_t)place.device << 32 | line) ^ hash_u64(place.op));
	struct gpu_place *at =
		tolls_row_keyed(kind, gaps_device(g->gaps, place.device)->process, key, nomem);

	if (at && !at->known) {
		place.row = at->row;
		place.known = true;
		*at = place;
	}
	return at;
}

const char *gpu_place_blame(const struct cause *c, const struct gpu_place *at, struct fact *f,
			    uint64_t affected, uint64_t count)
{
	f->op = at->op;
	f->nsites = 1;
	f->sites[0] = (struct where_place){ .stack = at->stack,
					    .op = at->op,
					    .lost_ns = f->lost_ns,
					    .affected = affected,
					    .count = count };
	return fact_blame_place(c, f);
}
