/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up amounts by process, op and stack in a hash table of bounded size.
 */
#include "lib/account/where.h"

#include "lib/base/hash.h"

static uint64_t key_of(uint32_t subject, uint16_t op, uint32_t stack)
{
	return hash_u64((uint64_t)subject << 32 | stack) ^ hash_u64(op);
}

struct where_place *where_at(struct where *w, uint32_t subject, uint16_t op, uint32_t stack)
{
	uint64_t key = key_of(subject, op, stack), at;

	for (;; key++) {
		if (!map_get(&w->by, key, &at)) {
			if (stack && w->v.n - w->unused.n >= WHERE_MAX)
				return where_at(w, subject, op, 0);
			if (w->v.n - w->unused.n >= 2 * WHERE_MAX) /* even without stacks */
				return &w->beyond;
			if (!vec_reserve(&w->v, 1))
				return NULL;
			at = w->unused.n ? w->unused.v[w->unused.n - 1] : w->v.n;
			if (!map_put(&w->by, key, at))
				return NULL;
			if (w->unused.n)
				w->unused.n--;
			else
				w->v.n++;
			w->v.v[at] = (struct where_place){
				.used = true, .subject = subject, .op = op, .stack = stack
			};
			return &w->v.v[at];
		}
		if (w->v.v[at].subject == subject && w->v.v[at].op == op &&
		    w->v.v[at].stack == stack)
			return &w->v.v[at];
	}
}

bool where_add(struct where *w, uint32_t subject, uint16_t op, uint32_t stack, uint64_t lost_ns,
	       uint64_t dur_ns)
{
	struct where_place *p = where_at(w, subject, op, stack);

	if (!p)
		return false;
	p->lost_ns += lost_ns;
	p->affected += lost_ns > 0;
	p->count++;
	p->sum_ns += dur_ns;
	if (dur_ns > p->max_ns)
		p->max_ns = dur_ns;
	return true;
}

bool where_merge(struct where *into, const struct where *from)
{
	for (size_t i = 0; i < from->v.n; i++) {
		const struct where_place *p = &from->v.v[i];
		struct where_place *at;

		if (!p->used)
			continue;
		at = where_at(into, p->subject, p->op, p->stack);
		if (!at)
			return false;
		at->lost_ns += p->lost_ns;
		at->affected += p->affected;
		at->count += p->count;
		at->sum_ns += p->sum_ns;
		at->max_ns = p->max_ns > at->max_ns ? p->max_ns : at->max_ns;
		at->bytes += p->bytes;
	}
	return true;
}

static bool is_before(const struct where_place *a, const struct where_place *b)
{
	return a->lost_ns != b->lost_ns ? a->lost_ns > b->lost_ns : a->count > b->count;
}

unsigned where_top(const struct where *w, uint32_t subject, struct where_place *v, unsigned n)
{
	unsigned have = 0;

	for (size_t i = 0; i < w->v.n; i++) {
		const struct where_place *p = &w->v.v[i];
		unsigned at = have;

		if (!p->used || p->subject != subject)
			continue;
		while (at > 0 && is_before(p, &v[at - 1]))
			at--;
		if (at == n)
			continue;
		if (have < n)
			have++;
		for (unsigned k = have - 1; k > at; k--)
			v[k] = v[k - 1];
		v[at] = *p;
	}
	return have;
}

bool where_forget(struct where *w, uint32_t subject)
{
	for (uint32_t i = 0; i < w->v.n; i++) {
		struct where_place *p = &w->v.v[i];

		if (!p->used || p->subject != subject)
			continue;
		map_del(&w->by, key_of(subject, p->op, p->stack));
		*p = (struct where_place){ 0 };
		if (!vec_push(&w->unused, i))
			return false;
	}
	return true;
}

void where_free(struct where *w)
{
	vec_free(&w->unused);
	map_free(&w->by);
	vec_free(&w->v);
}
