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
/* Of each wait: as many as the recorder tells. */
#define READY_SOCKETS 4
#define READY_COUNT   32 /* where in a value of readies their number stands */

static uint64_t key_of(uint32_t thread, int64_t end_ns)
{
	return hash_u64((uint64_t)end_ns ^ hash_u64(thread));
}

/* Of the i-th socket of a wait. */
static uint64_t socket_key(uint64_t key, uint64_t i)
{
	return hash_u64(key + i);
}

int path_ready(struct path *p, uint32_t thread, uint64_t socket, int64_t time_ns, struct err *e)
{
	struct path_thread *th = path_thread_known(p, thread);
	uint64_t known = 0, n, key = key_of(thread, time_ns);
	uint16_t flag = path_socket_role(p, socket);
	bool done;

	if (th && th->polled_ns == time_ns && th->awaits)
		flag &= (uint16_t)~SEGMENT_DEMAND;
	if (th && th->polled_ns == time_ns)
		return path_sockets_mark(p, th, INT64_MIN, time_ns, flag,
					 th->sender_end == (uint32_t)time_ns &&
						 path_sent(p, th, socket),
					 &done) &&
				       !p->nomem
			       ? 0
			       : err_nomem(e);
	if (!map_get(&p->readies, key, &known) && p->readies.n >= READIES_MAX) {
		map_clear(&p->readies);
		map_clear(&p->ready_sockets);
	}
	n = known >> READY_COUNT;
	if (n < READY_SOCKETS && !map_put(&p->ready_sockets, socket_key(key, n++), socket))
		return err_nomem(e);
	known = (known & UINT32_MAX) | flag | n << READY_COUNT;
	return map_put(&p->readies, key, known) ? 0 : err_nomem(e);
}

void path_ready_take(struct path *p, struct path_thread *th, int64_t end_ns, struct segment *wait)
{
	uint64_t flags, socket, key = key_of(th->id, end_ns);

	th->polled_ns = end_ns;
	if (!p->readies.n || !map_get(&p->readies, key, &flags))
		return;
	wait->flags |= (uint16_t)flags;
	map_del(&p->readies, key);
	for (uint64_t i = 0; i < flags >> READY_COUNT; i++) {
		if (!map_get(&p->ready_sockets, socket_key(key, i), &socket))
			continue;
		path_sockets_sent(p, th, socket, wait);
		map_del(&p->ready_sockets, socket_key(key, i));
	}
}
