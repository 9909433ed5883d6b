/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that threads gave themselves over time: a name holds from when it was given until the
 * next one, so a later one changes nothing about what was before. Of each thread the last
 * RENAMES_MAX are known.
 */
#ifndef INGERO_WORLD_RENAMES_H
#define INGERO_WORLD_RENAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

#define RENAMES_MAX \
	16 /* programs that put their state into their name change it for each request */

struct rename {
	int64_t since_ns;
	uint32_t name; /* world string */
};
struct thread_names {
	VEC(struct rename) v; /* oldest first */
};
/* Zero-initialised is empty. */
struct renames {
	struct map of; /* thread -> position in v, + 1 */
	VEC(struct thread_names) v;
};

/* In any order of time; one that is known already changes nothing. False: out of memory. */
bool renames_add(struct renames *r, uint32_t thread, int64_t since_ns, uint32_t name);

/* What the thread was called then (INT64_MAX: the newest name); 0: it had given itself none yet. */
uint32_t renames_at(const struct renames *r, uint32_t thread, int64_t at_ns);

void renames_free(struct renames *r);

#endif
