/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is what a row of call sites shows of a stack: stacks that differ only further out, or
 * inside a library, are one row. Those that lost most are merged: their frames are looked up each
 * time, so there is a limit.
 */
#include "lib/account/loss_places.h"

#include <stdlib.h>

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

static unsigned insert_place(struct where_place *v, unsigned n, const struct where_place *p)
{
	unsigned at = n;

	while (at > 0 && p->lost_ns > v[at - 1].lost_ns)
		at--;
	if (at == LOSS_PLACES)
		return n;
	if (n < LOSS_PLACES)
		n++;
	for (unsigned k = n - 1; k > at; k--)
		v[k] = v[k - 1];
	v[at] = *p;
	return n;
}

static int by_lost(const void *a, const void *b)
{
	const struct where_place *x = a, *y = b;

	if (x->lost_ns != y->lost_ns)
		return x->lost_ns > y->lost_ns ? -1 : 1;
	if (x->op != y->op)
		return x->op > y->op ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

unsigned loss_places(const struct cause *c, const struct loss *x, struct where_place *v)
{
	uint64_t lines[LOSS_PLACES];
	unsigned n = 0, kept = 0;

	for (size_t i = 0; i < c->lost_time.where.v.n; i++)
		if (is_part(&c->lost_time, x, &c->lost_time.where.v.v[i]))
			n = insert_place(v, n, &c->lost_time.where.v.v[i]);
	for (unsigned i = 0; i < n; i++) {
		uint64_t line = line_of(c->w, v[i].stack);
		unsigned k = 0;

		while (k < kept && (lines[k] != line || v[k].op != v[i].op))
			k++;
		if (k == kept) {
			lines[kept] = line;
			v[kept++] = v[i];
			continue;
		}
		v[k].lost_ns += v[i].lost_ns;
		v[k].affected += v[i].affected;
		v[k].count += v[i].count;
		v[k].sampled_ns += v[i].sampled_ns;
	}
	/* Stacks of one line may share a step, or a wait. */
	for (unsigned i = 0; i < kept && x->count; i++)
		v[i].affected = v[i].affected < x->count ? v[i].affected : x->count;
	if (kept)
		qsort(v, kept, sizeof(*v), by_lost);
	return kept;
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
