/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is what a row of call sites shows of a stack: stacks that differ only further out, or
 * inside a library, are one row. Those that lost most are merged: their frames are looked up each
 * time, so there is a limit.
 */
#include "lib/account/loss_places.h"

#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/world/call_site.h"

/* Its line, and the function that called it. 0: there is no stack. */
static uint64_t line_of(const struct world *w, uint32_t stack)
{
	unsigned n = 0, site, outer;
	const uint32_t *frames = stack ? world_get_stack(w, stack, &n) : NULL;
	const struct world_symbol *s;
	const struct world_frame *f;

	site = call_site_find(w, frames, n);
	if (site == n)
		return 0;
	outer = call_site_outward(w, frames, n, site);
	s = outer < n ? world_get_symbol(w, frames[outer]) : NULL;
	f = outer < n ? world_get_frame(w, frames[outer]) : NULL;
	return (uint64_t)frames[site] << 32 | (s ? s->name : f ? f->name : 0);
}

/* Several are made of those that were not told. */
static bool is_part(const struct lost_time *l, const struct loss *x, const struct where_place *p)
{
	const struct loss *of;

	if (!p->used || !p->lost_ns)
		return false;
	of = &l->v.v[p->subject];
	return x == &l->several
		       ? of->process == x->process && of->family == x->family && !of->revision
		       : of == x;
}

/* Places of one call and line. */
struct line_place {
	struct where_place sum; /* with the stack that lost most of it */
	uint64_t most_ns;	/* so much */
};
struct line_places {
	struct map by; /* hash of call and line -> v */
	VEC(struct line_place) v;
};

static void add_place(struct line_places *l, const struct world *w, const struct where_place *p)
{
	uint64_t key = hash_u64(line_of(w, p->stack) ^ hash_u64(p->op)), at = l->v.n;
	struct line_place *k;

	if (!map_get(&l->by, key, &at)) {
		/* What finds no memory is not listed. */
		if (vec_push(&l->v, (struct line_place){ *p, p->lost_ns }) &&
		    !map_put(&l->by, key, at))
			l->v.n--;
		return;
	}
	k = &l->v.v[at];
	if (p->lost_ns > k->most_ns) {
		k->most_ns = p->lost_ns;
		k->sum.stack = p->stack;
	}
	k->sum.lost_ns += p->lost_ns;
	k->sum.affected += p->affected;
	k->sum.count += p->count;
	k->sum.sampled_ns += p->sampled_ns;
}

static int by_lost(const void *a, const void *b)
{
	const struct where_place *x = &((const struct line_place *)a)->sum,
				 *y = &((const struct line_place *)b)->sum;

	if (x->lost_ns != y->lost_ns)
		return x->lost_ns > y->lost_ns ? -1 : 1;
	if (x->op != y->op)
		return x->op > y->op ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

unsigned loss_places(const struct cause *c, const struct loss *x, struct where_place *v)
{
	struct line_places all = { 0 };
	unsigned n;

	for (size_t i = 0; i < c->lost_time.where.v.n; i++)
		if (is_part(&c->lost_time, x, &c->lost_time.where.v.v[i]))
			add_place(&all, c->w, &c->lost_time.where.v.v[i]);
	if (all.v.n)
		qsort(all.v.v, all.v.n, sizeof(*all.v.v), by_lost);
	n = all.v.n < LOSS_PLACES ? (unsigned)all.v.n : LOSS_PLACES;
	for (unsigned i = 0; i < n; i++) {
		v[i] = all.v.v[i].sum;
		/* Stacks of one line may share a step, or a wait. */
		if (x->count && v[i].affected > x->count)
			v[i].affected = x->count;
	}
	map_free(&all.by);
	vec_free(&all.v);
	return n;
}

void loss_place_fill(const struct cause *c, uint32_t process, struct where_place *p)
{
	uint64_t line = line_of(c->w, p->stack);

	p->count = p->op ? 0 : p->affected;
	for (size_t i = 0; p->op && i < c->classes.sites.n; i++) {
		const struct cause_site *s = &c->classes.sites.v[i];

		if (s->process != process || s->op != p->op || line_of(c->w, s->stack) != line)
			continue;
		p->count += s->n;
		p->sum_ns += s->sum_ns;
		p->max_ns = s->max_ns > p->max_ns ? s->max_ns : p->max_ns;
	}
}
