/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of own code are numbers that may be used again for another thread's, whose first stretch has
 * the edges of that one then. */
#include "lib/path/sampled_edges.h"

#include "lib/base/hash.h"

void sampled_edges_free(struct sampled_edges *s)
{
	for (unsigned i = 0; i < SAMPLED_EDGES; i++)
		map_free(&s->by[i]);
}

bool sampled_edges_note(struct sampled_edges *s, enum sampled_edge edge, uint32_t own,
			uint32_t stack, int64_t at_ns, int64_t far_ns)
{
	/* By chance, and the same each time that a recording is read. */
	double chance = (double)(hash_u64((uint64_t)at_ns) >> 11) / (double)(UINT64_C(1) << 53);

	if ((double)far_ns > chance * (double)s->half_ns)
		return true;
	return map_put(&s->by[edge], own, stack);
}

uint32_t sampled_edges_get(const struct sampled_edges *s, enum sampled_edge edge, uint32_t own)
{
	uint64_t stack;

	return map_get(&s->by[edge], own, &stack) ? (uint32_t)stack : 0;
}
