/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Through which waits a piece was reached, from the anchor's own on: a chain, as a number. Chains
 * share what they have in common.
 */
#ifndef INGERO_PATH_PATH_VIAS_H
#define INGERO_PATH_PATH_VIAS_H

#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

/* Once there are so many, only the anchor's own waits get new ones; what was reached through more
 * is as if reached through less. */
#define PATH_VIAS_MAX 65536

struct path_via_node {
	uint32_t before; /* the chain without its last wait; 0: it has one alone */
	uint32_t key;	 /* that wait (segment_keys.h) */
};

/* Zero-initialised is empty. */
struct path_vias {
	VEC(struct path_via_node) v; /* number 1 is v[0] */
	struct map by;		     /* before and key -> number */
};

void path_vias_free(struct path_vias *v);

/* The chain with one wait more; 0: out of memory. */
uint32_t path_vias_add(struct path_vias *v, uint32_t before, uint32_t key);

#endif
