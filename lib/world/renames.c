/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of thread names by time, short and sorted. Records of renamings come about in order, and
 * again at the start of each file of a recording.
 */
#include "lib/world/renames.h"

#include <string.h>

static struct thread_names *names_of(const struct renames *r, uint32_t thread)
{
	uint64_t at;

	return map_get(&r->of, thread, &at) ? &r->v.v[at - 1] : NULL;
}

static struct thread_names *make_names(struct renames *r, uint32_t thread)
{
	if (!vec_push(&r->v, (struct thread_names){ 0 }))
		return NULL;
	if (map_put(&r->of, thread, r->v.n))
		return &r->v.v[r->v.n - 1];
	r->v.n--;
	return NULL;
}

bool renames_add(struct renames *r, uint32_t thread, int64_t since_ns, uint32_t name)
{
	struct thread_names *t = names_of(r, thread);
	size_t at;

	if (!t)
		t = make_names(r, thread);
	if (!t)
		return false;
	for (at = t->v.n; at > 0 && t->v.v[at - 1].since_ns > since_ns;)
		at--;
	if (at > 0 && t->v.v[at - 1].name == name)
		return true; /* it is called that already */
	if (t->v.n == RENAMES_MAX) {
		if (at == 0)
			return true; /* older than all that are known */
		memmove(t->v.v, t->v.v + 1, (t->v.n - 1) * sizeof(t->v.v[0]));
		t->v.n--;
		at--;
	}
	if (!vec_reserve(&t->v, 1))
		return false;
	memmove(t->v.v + at + 1, t->v.v + at, (t->v.n - at) * sizeof(t->v.v[0]));
	t->v.v[at] = (struct rename){ since_ns, name };
	t->v.n++;
	return true;
}

uint32_t renames_at(const struct renames *r, uint32_t thread, int64_t at_ns)
{
	const struct thread_names *t = names_of(r, thread);

	for (size_t i = t ? t->v.n : 0; i > 0; i--)
		if (t->v.v[i - 1].since_ns <= at_ns)
			return t->v.v[i - 1].name;
	return 0;
}

void renames_free(struct renames *r)
{
	for (size_t i = 0; i < r->v.n; i++)
		vec_free(&r->v.v[i].v);
	vec_free(&r->v);
	map_free(&r->of);
}
