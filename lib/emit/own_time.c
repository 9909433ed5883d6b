/* SPDX-License-Identifier: Apache-2.0 */
/* A call whose inner ones were lost or left out has them in its own time: nobody knows better. */
#include "lib/emit/own_time.h"

bool own_time_call(struct own_time *o, uint32_t thread, const struct event *ev, uint64_t *own)
{
	struct own_time_thread *t;
	uint64_t at, inside;

	*own = ev->dur_ns;
	if (ev->depth >= OWN_TIME_DEPTH)
		return true;
	if (!map_get(&o->threads, thread, &at)) {
		if (!vec_push(&o->v, (struct own_time_thread){ { 0 } }) ||
		    !map_put(&o->threads, thread, o->v.n))
			return false;
		at = o->v.n;
	}
	t = &o->v.v[at - 1];
	inside = t->inside[ev->depth + 1];
	*own -= inside < ev->dur_ns ? inside : ev->dur_ns;
	t->inside[ev->depth + 1] = 0;
	t->inside[ev->depth] += ev->dur_ns;
	if (!ev->depth)
		t->inside[0] = 0;
	return true;
}

void own_time_free(struct own_time *o)
{
	map_free(&o->threads);
	vec_free(&o->v);
}
