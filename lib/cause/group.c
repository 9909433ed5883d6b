/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hits of one site under several classes, or of one class at several sites, are added up here; ties
 * go to the lower id, so that the same events give the same order.
 */
#include "lib/cause/group.h"

#include <stdlib.h>

#include "lib/base/map.h"
#include "lib/world/call_site.h"

#define SITES_LOOKED_AT 32 /* for a traced call, by lost time */

static int site_order(const void *a, const void *b)
{
	const struct group_site *x = a, *y = b;

	if (x->lost_ns != y->lost_ns)
		return x->lost_ns > y->lost_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* What a row of call sites shows of a stack: its line, and the function that called it. 0: there is no stack. */
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

/* Stacks that differ only further out, or inside a library, are one row. Those that lost most are merged: their frames are looked
 * up each time, so there is a limit. Sorted again. */
#define LINES_MERGED 128

static size_t merge_lines(const struct cause *c, struct group_site *v, size_t n)
{
	size_t looked = n < LINES_MERGED ? n : LINES_MERGED, kept = 0;
	uint64_t lines[LINES_MERGED];

	for (size_t i = 0; i < n; i++) {
		const struct cause_site *s = &c->classes.sites.v[v[i].id];
		struct group_site one = v[i];
		size_t k = i < looked ? 0 : kept;
		uint64_t line = i < looked ? line_of(c->w, s->stack) : 0;

		one.calls = s->n;
		one.sum_ns = s->sum_ns;
		one.max_ns = s->max_ns;
		while (k < kept && !(line && k < looked && lines[k] == line &&
				     c->classes.sites.v[v[k].id].op == s->op))
			k++;
		if (k == kept) {
			if (kept < looked)
				lines[kept] = line;
			v[kept++] = one;
			continue;
		}
		v[k].lost_ns += one.lost_ns;
		v[k].count += one.count;
		v[k].calls += one.calls;
		v[k].sum_ns += one.sum_ns;
		v[k].max_ns = one.max_ns > v[k].max_ns ? one.max_ns : v[k].max_ns;
	}
	if (kept)
		qsort(v, kept, sizeof(*v), site_order);
	return kept;
}

static unsigned top_hits(const struct cause *c, const struct tally_group *g, bool classes,
			 struct group_site *v, unsigned n)
{
	VEC(struct group_site) sites = { 0 };
	struct map at = { 0 };
	uint64_t pos, others_ns = 0;

	for (size_t i = 0; i < g->hits.n; i++) {
		const struct tally_hit *h = &c->tally.hits.v[g->hits.v[i]];

		uint32_t id = classes ? h->class_id : h->site_id;

		if (classes ? classes_is_others(&c->classes, id)
			    : classes_is_other_sites(&c->classes, id)) {
			others_ns += h->ns;
			continue;
		}
		if (!map_get(&at, id, &pos)) {
			pos = sites.n;
			if (!vec_push(&sites, (struct group_site){ .id = id }) ||
			    !map_put(&at, id, pos))
				break;
		}
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the map has places of what is in the array */
		sites.v[pos].lost_ns += h->ns;
		sites.v[pos].count += h->count;
	}
	if (sites.n)
		qsort(sites.v, sites.n, sizeof(*sites.v), site_order);
	if (!classes)
		sites.n = merge_lines(c, sites.v, sites.n);
	if (n > sites.n)
		n = (unsigned)sites.n;
	/* Where there were too many to keep all, the largest that was kept may not be the largest. */
	if (n && others_ns > sites.v[0].lost_ns)
		n = 0;
	for (unsigned i = 0; i < n; i++)
		v[i] = sites.v[i];
	vec_free(&sites);
	map_free(&at);
	return n;
}

unsigned group_sites(const struct cause *c, const struct tally_group *g, struct group_site *v,
		     unsigned n)
{
	return top_hits(c, g, false, v, n);
}

unsigned group_classes(const struct cause *c, const struct tally_group *g, struct group_site *v,
		       unsigned n)
{
	return top_hits(c, g, true, v, n);
}

uint16_t group_op(const struct cause *c, const struct tally_group *g)
{
	struct group_site top[SITES_LOOKED_AT];
	unsigned n = group_sites(c, g, top, SITES_LOOKED_AT);

	for (unsigned i = 0; i < n; i++) {
		if (c->classes.sites.v[top[i].id].op)
			return c->classes.sites.v[top[i].id].op;
	}
	return 0;
}

void group_shares(const struct cause *c, const struct tally_group *g, double *explained,
		  double *unexplained)
{
	const struct tally_process *p = &c->tally.processes.v[g->process];
	uint64_t unknown = p->gone ? p->gone->ns_by[PART_UNKNOWN] : 0, nobody = 0;
	double all;

	for (size_t i = 0; i < p->threads.n; i++) {
		const struct tally_thread *th = &c->tally.threads.v[p->threads.v[i]];
		const struct tally_row *r;

		unknown += th->ns_by[PART_UNKNOWN];
		for (uint32_t at = th->rows; at; at = r->next) {
			r = &c->tally.rows.v[at - 1];
			if (r->culprit == 0 &&
			    (1u << r->part & (1u << PART_WAIT_UNKNOWN | 1u << PART_PREEMPTED |
					      1u << PART_RUNQ | 1u << PART_LOCK)))
				nobody += r->ns;
		}
	}
	all = (double)(p->host_ns + unknown);
	*explained = all > 0 ? (double)g->ns / all : 0;
	*unexplained = all > 0 ? (double)(unknown + nobody) / all : 0;
}
