/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places by hash of what they are; equal hashes are told apart by asking the next number.
 */
#include "lib/cause/where.h"

#include "lib/base/hash.h"

struct where_place *where_at(struct where *w, uint32_t subject, uint16_t op, uint32_t stack)
{
	uint64_t key, at;

	if (w->v.n >= WHERE_MAX)
		stack = 0;
	key = hash_u64((uint64_t)subject << 32 | stack) ^ hash_u64(op);
	for (;; key++) {
		if (!map_get(&w->by, key, &at)) {
			if (w->v.n >= 2 * WHERE_MAX) /* even without stacks there are too many */
				return &w->v.v[w->v.n - 1];
			if (!vec_push(&w->v, (struct where_place){ .subject = subject,
								   .op = op,
								   .stack = stack }) ||
			    !map_put(&w->by, key, w->v.n - 1))
				return NULL;
			return &w->v.v[w->v.n - 1];
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

static bool before(const struct where_place *a, const struct where_place *b)
{
	return a->lost_ns != b->lost_ns ? a->lost_ns > b->lost_ns : a->count > b->count;
}

unsigned where_top(const struct where *w, uint32_t subject, struct where_place *v, unsigned n)
{
	unsigned have = 0;

	for (size_t i = 0; i < w->v.n; i++) {
		const struct where_place *p = &w->v.v[i];
		unsigned at = have;

		if (p->subject != subject)
			continue;
		while (at > 0 && before(p, &v[at - 1]))
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

void where_free(struct where *w)
{
	map_free(&w->by);
	vec_free(&w->v);
}
