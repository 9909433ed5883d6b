/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls inside a call that moves bytes. A call that began earlier is not inside it,
 * however deep it was.
 */
#include "lib/export/copied_bytes.h"

#include <string.h>

bool copied_bytes_add(struct copied_bytes *m, uint32_t thread, const struct event *ev, uint32_t row,
		      uint64_t bytes, const struct copied_bytes_call **inside, size_t *n)
{
	const struct copied_bytes_call call = { event_start(ev), bytes, row, ev->depth };
	struct copied_bytes_thread *t;
	uint64_t at;

	*n = 0;
	if (!map_get(&m->threads, thread, &at)) {
		if (!vec_push(&m->v, (struct copied_bytes_thread){ { 0 } }) ||
		    !map_put(&m->threads, thread, m->v.n))
			return false;
		at = m->v.n;
	}
	t = &m->v.v[at - 1];
	if (t->v.n >= COPIED_BYTES_HELD) {
		t->v.n -= COPIED_BYTES_HELD / 2;
		memmove(t->v.v, t->v.v + COPIED_BYTES_HELD / 2, t->v.n * sizeof(*t->v.v));
	}
	/* Those inside it stand behind it then. */
	if (!vec_reserve(&t->v, 1))
		return false;
	while (t->v.n && t->v.v[t->v.n - 1].depth > call.depth &&
	       t->v.v[t->v.n - 1].start_ns >= call.start_ns) {
		t->v.n--;
		++*n;
	}
	memmove(t->v.v + t->v.n + 1, t->v.v + t->v.n, *n * sizeof(*t->v.v));
	*inside = t->v.v + t->v.n + 1;
	t->v.v[t->v.n++] = call;
	/* Nothing is around the outermost. */
	if (!call.depth)
		t->v.n = 0;
	return true;
}

void copied_bytes_free(struct copied_bytes *m)
{
	for (size_t i = 0; i < m->v.n; i++)
		vec_free(&m->v.v[i].v);
	map_free(&m->threads);
	vec_free(&m->v);
}
