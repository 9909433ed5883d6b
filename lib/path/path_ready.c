/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was ready when a wait for several descriptors ended. Such records stand in a stream in
 * blocks, before the events of the same time or behind them: thread and end say which wait is
 * meant.
 */
#include "lib/base/hash.h"
#include "lib/path/path_state.h"

/* Of waits whose interval never comes, as it was lost, some are left. */
#define READIES_MAX 65536

static uint64_t key_of(uint32_t thread, int64_t end_ns)
{
	return hash_u64((uint64_t)end_ns ^ hash_u64(thread));
}

int path_ready(struct path *p, uint32_t thread, uint64_t socket, int64_t time_ns, struct err *e)
{
	struct path_thread *th = path_thread_known(p, thread);
	uint64_t flag, known = 0, key = key_of(thread, time_ns);
	bool done;

	if (!map_get(&p->sockets, socket, &flag))
		return 0;
	if (th && th->polled_ns == time_ns && th->awaits)
		flag &= ~(uint64_t)SEGMENT_DEMAND;
	if (th && th->polled_ns == time_ns) {
		path_timed_ready(p, th, (uint16_t)flag);
		return path_thread_flag_wait(th, INT64_MIN, (uint16_t)flag, &done) && !p->nomem
			       ? 0
			       : err_nomem(e);
	}
	if (!map_get(&p->readies, key, &known) && p->readies.n >= READIES_MAX)
		map_clear(&p->readies);
	return map_put(&p->readies, key, known | flag) ? 0 : err_nomem(e);
}

void path_ready_take(struct path *p, struct path_thread *th, int64_t end_ns, struct segment *wait)
{
	uint64_t flags, key = key_of(th->id, end_ns);

	th->polled_ns = end_ns;
	if (!p->readies.n || !map_get(&p->readies, key, &flags))
		return;
	wait->flags |= (uint16_t)flags;
	map_del(&p->readies, key);
}
