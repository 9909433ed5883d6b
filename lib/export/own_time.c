/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the self time of calls from their order and depth. A call that began before another is
 * not inside it, however deep it was: the call around it is missing.
 */
#include "lib/export/own_time.h"

#include <string.h>

/* Merges neighbours of one depth in the older half. If that frees little, the half is dropped: real
 * calls do not look like that. */
static void merge_older_calls(struct own_time_thread *t)
{
	const size_t half = t->v.n / 2;
	size_t left = 0;

	for (size_t i = 0; i < half; i++) {
		if (left && t->v.v[left - 1].depth == t->v.v[i].depth)
			t->v.v[left - 1].ns += t->v.v[i].ns;
		else
			t->v.v[left++] = t->v.v[i];
	}
	left = left <= half / 2 ? left : 0;
	memmove(t->v.v + left, t->v.v + half, (t->v.n - half) * sizeof(*t->v.v));
	t->v.n -= half - left;
}

bool own_time_call(struct own_time *o, uint32_t thread, const struct event *ev, uint64_t *own)
{
	const struct own_time_span span = { event_start(ev), ev->dur_ns, ev->depth };
	struct own_time_thread *t;
	uint64_t at;

	*own = ev->dur_ns;
	if (!map_get(&o->threads, thread, &at)) {
		if (!vec_push(&o->v, (struct own_time_thread){ { 0 } }) ||
		    !map_put(&o->threads, thread, o->v.n))
			return false;
		at = o->v.n;
	}
	t = &o->v.v[at - 1];
	while (t->v.n) {
		const struct own_time_span *in = &t->v.v[t->v.n - 1];

		if (in->depth <= span.depth || in->start_ns < span.start_ns)
			break;
		*own -= in->ns < *own ? in->ns : *own;
		t->v.n--;
	}
	/* No call encloses the outermost. */
	if (!span.depth) {
		t->v.n = 0;
		return true;
	}
	if (t->v.n >= OWN_TIME_HELD)
		merge_older_calls(t);
	return vec_push(&t->v, span);
}

void own_time_free(struct own_time *o)
{
	for (size_t i = 0; i < o->v.n; i++)
		vec_free(&o->v.v[i].v);
	map_free(&o->threads);
	vec_free(&o->v);
}
