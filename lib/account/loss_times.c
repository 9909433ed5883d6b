/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the times a part was met up to those that the thread was off its CPU in the same wait, or
 * to the number of its steps.
 */
#include "lib/account/loss_times.h"

bool loss_times_add(struct lost_time *l, const struct loss *x, const struct loss_blame *b,
		    uint32_t anchor, const struct track_part *p, struct loss_times *more)
{
	bool own = loss_is_own_code(anchor, p);
	uint64_t most = own ? l->steps : p->times, before = 0, n = p->waits;
	uint64_t key = hash_u64((uint64_t)(x - l->v.v) << 32 | p->via) ^
		       hash_u64((uint64_t)anchor << 8 | l->window);

	/* What the kernel does for a thread's memory it does on the CPU, too, when it sleeps in it.
	 */
	if ((b->family == LOSS_MEMORY || b->family == LOSS_PAGES) && p->asleep)
		n = 0;
	*more = (struct loss_times){ n, n };
	if (l->pane != INT64_MAX || !most)
		return true;
	map_get(&l->counted, key, &before);
	more->all = n < most - before ? n : most - before;
	more->there = !own ? more->all : n < most ? n : most;
	return map_put(&l->counted, key, before + more->all);
}
