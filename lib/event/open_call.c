/* SPDX-License-Identifier: Apache-2.0 */
/* A thread has one call at a time of each depth. */
#include "lib/event/open_call.h"

#include "lib/base/hash.h"

bool open_calls_add(struct open_calls *o, const struct rec_OPEN *call)
{
	const uint64_t which[] = { call->thread, call->depth, (uint64_t)call->start_ns };
	uint64_t key = hash_bytes(which, sizeof(which), 0), at, latest;

	if (!call->at_end)
		return true;
	if ((!map_get(&o->latest, call->thread, &latest) || (int64_t)latest < call->time_ns) &&
	    !map_put(&o->latest, call->thread, (uint64_t)call->time_ns))
		return false;
	if (map_get(&o->by, key, &at)) {
		if (call->time_ns > o->v.v[at].time_ns)
			o->v.v[at] = *call;
		return true;
	}
	return o->v.n >= OPEN_CALLS_MAX ||
	       (vec_push(&o->v, *call) && map_put(&o->by, key, o->v.n - 1));
}

bool open_calls_named(const struct open_calls *o, const struct rec_OPEN *call)
{
	uint64_t latest;

	return map_get(&o->latest, call->thread, &latest) && (int64_t)latest == call->time_ns;
}

void open_calls_free(struct open_calls *o)
{
	vec_free(&o->v);
	map_free(&o->by);
	map_free(&o->latest);
}
