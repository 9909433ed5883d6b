/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps handles of NCCL communicators to their ids. A handle is reused once its communicator is
 * gone: the newest id wins.
 */
#include "lib/export/comm_ids.h"

#include "lib/base/hash.h"

bool comm_ids_event(struct comm_ids *c, uint32_t process, const struct event *ev,
		    const struct op_def *op, uint64_t *id, bool *known)
{
	uint64_t handle, key;

	*known = false;
	if (!event_get(ev, op, COL_COMM, &handle))
		return true;
	key = hash_u64(handle) ^ hash_u64((uint64_t)process << 20 | 1);
	if (!event_get(ev, op, COL_COMM_ID, id)) {
		*known = map_get(&c->of, key, id);
		return true;
	}
	*known = true;
	return c->of.n >= COMM_IDS_MAX || ev->ret || map_put(&c->of, key, *id);
}
