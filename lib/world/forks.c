/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the children of a process that are called as it is: whoever executes something else is
 * called by that. */
#include "lib/world/forks.h"

#define SEVERAL 3

bool world_forks(const struct world *w, uint32_t process)
{
	const struct world_process *own = world_get_process(w, process);
	uint32_t name = world_process_name(w, process, 0, INT64_MAX);
	unsigned n = 0;

	for (uint32_t i = 1; own && name && i <= world_count(w, WORLD_PROCESS) && n < SEVERAL;
	     i++) {
		const struct world_process *p = world_get_process(w, i);

		n += p && p->parent == own->tgid && p->node == own->node &&
		     world_process_name(w, i, 0, INT64_MAX) == name;
	}
	return n >= SEVERAL;
}
