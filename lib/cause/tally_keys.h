/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By which keys the books find what they hold, and how places are taken, for the files that fill them (tally.c) and that
 * empty them again (tally_forget.c).
 */
#ifndef INGERO_CAUSE_TALLY_KEYS_H
#define INGERO_CAUSE_TALLY_KEYS_H

#include "lib/base/hash.h"
#include "lib/cause/tally.h"

/* A position that nothing has, of what is unused or at the end; UINT32_MAX: out of memory. */
#define place_for(vec, unused, fresh)                                                             \
	((unused)->n                                                                              \
		 ? ((vec)->v[(unused)->v[(unused)->n - 1]] = (fresh), (unused)->v[--(unused)->n]) \
	 : vec_push((vec), (fresh)) ? (uint32_t)(vec)->n - 1                                      \
				    : UINT32_MAX)

static inline uint64_t group_key(uint32_t process, enum cause_family family, uint32_t culprit)
{
	return hash_u64(((uint64_t)process << 32 | culprit) ^ hash_u64((uint64_t)family));
}

static inline uint64_t row_key(uint32_t thread, uint32_t part, uint32_t culprit)
{
	return hash_u64(((uint64_t)thread << 32 | culprit) ^ hash_u64(part));
}

static inline uint64_t hit_key(uint32_t class_id, uint32_t site_id, uint32_t group)
{
	return hash_u64(((uint64_t)class_id << 32 | site_id) ^ hash_u64((uint64_t)group + 1));
}

static inline uint64_t cell_key(uint32_t group, uint32_t class_id, uint32_t cell)
{
	return hash_u64((uint64_t)group << 32 | class_id) ^ hash_u64(cell + 1);
}

static inline void tally_group_free(struct tally_group *g)
{
	vec_free(&g->rows);
	vec_free(&g->hits);
	vec_free(&g->cpu_us);
}

#endif
