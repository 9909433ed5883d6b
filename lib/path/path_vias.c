/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers chains of waits, each by the chain before it and its last wait.
 */
#include "lib/path/path_vias.h"

void path_vias_free(struct path_vias *v)
{
	vec_free(&v->v);
	map_free(&v->by);
}

uint32_t path_vias_add(struct path_vias *v, uint32_t before, uint32_t key)
{
	uint64_t pair = (uint64_t)before << 32 | key, number;

	if (map_get(&v->by, pair, &number))
		return (uint32_t)number;
	if (before && v->v.n >= PATH_VIAS_MAX)
		return before;
	number = v->v.n + 1;
	if (!vec_push(&v->v, (struct path_via_node){ before, key }))
		return 0;
	if (!map_put(&v->by, pair, number)) {
		v->v.n--;
		return 0;
	}
	return (uint32_t)number;
}
