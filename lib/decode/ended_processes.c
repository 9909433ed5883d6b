/* SPDX-License-Identifier: Apache-2.0 */
/* Holds ended processes until none of their events can come out of the rings any more. A pid is
 * reported as free only if its last known process is among those that are gone. */
#include "lib/decode/ended_processes.h"

#include <string.h>

void ended_processes_add(struct ended_processes *e, uint32_t tgid, uint32_t process)
{
	if (vec_push(&e->v, (struct ended_process){ tgid, process, e->round }))
		map_put(&e->numbers, tgid, process);
}

void ended_processes_taken(struct ended_processes *e, uint32_t tgid, uint32_t process)
{
	uint64_t known;

	if (map_get(&e->numbers, tgid, &known) && known != process)
		map_del(&e->numbers, tgid);
}

const struct gone_processes *ended_processes_next(struct ended_processes *e)
{
	size_t n = 0;

	map_clear(&e->gone.processes);
	map_clear(&e->gone.numbers);
	for (; n < e->v.n && e->v.v[n].round != e->round; n++) {
		const struct ended_process *one = &e->v.v[n];
		uint64_t known;

		map_put(&e->gone.processes, one->process, one->tgid);
		if (!map_get(&e->numbers, one->tgid, &known) || known != one->process)
			continue;
		map_put(&e->gone.numbers, one->tgid, one->process);
		map_del(&e->numbers, one->tgid);
	}
	e->round++;
	if (n == 0)
		return NULL;
	memmove(e->v.v, e->v.v + n, (e->v.n - n) * sizeof(e->v.v[0]));
	e->v.n -= n;
	return &e->gone;
}

void ended_processes_free(struct ended_processes *e)
{
	vec_free(&e->v);
	map_free(&e->numbers);
	map_free(&e->gone.processes);
	map_free(&e->gone.numbers);
}
