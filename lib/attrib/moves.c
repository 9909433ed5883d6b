/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a thread's moves between run queues are without a gap. */
#include "lib/attrib/moves.h"

bool moves_sound(const struct moves *m, int64_t start_ns, uint64_t cpu_out, uint64_t cpu_in)
{
	uint64_t at = cpu_out;

	if (m->n > MOVES_MAX)
		return false;
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->v[i].time_ns < start_ns)
			continue;
		if (m->v[i].from != at)
			return false;
		at = m->v[i].to;
	}
	return at == cpu_in;
}
