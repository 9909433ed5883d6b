/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settling: at the end of each second of event time every group is held against the last ten,
 * and at the end against the whole recording. What is material is told; told again when it doubled,
 * when it grew more severe, and at the end. A chain once told keeps its kind: one fact is one chain.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/cause/chain.h"
#include "lib/cause/detect/kinds.h"
#include "lib/cause/inside.h"
#include "lib/cause/tally_keys.h"
#include "lib/cause/without.h"

/* Many small takers are only a finding of their own when together they take this much of wall time. */
#define SEVERAL_SHARE 0.05

/* alike: what the host took in like manner, and in none that is known. */
struct measure {
	uint64_t ns, count, worst, wall, alike;
};

/* Waiting for a CPU is one thing whoever is the reason, as are locks and disks: a disk is as slow beside a hog. */
static bool is_alike(enum cause_family f, enum cause_family to)
{
	bool cpu = f == FAMILY_CPU || f == FAMILY_THROTTLED;

	return f == to || f == FAMILY_COUNT ||
	       (cpu && (to == FAMILY_CPU || to == FAMILY_THROTTLED));
}

static struct measure measure_of(struct cause *c, const struct tally_group *g, int64_t pane)
{
	const struct tally_process *p = &c->tally.processes.v[g->process];
	struct measure m = { 0 };
	uint64_t count;

	m.worst = tally_group_worst_thread(&c->tally, g, pane);
	if (pane == INT64_MAX) {
		m.ns = g->ns;
		m.count = g->count;
		m.wall = cause_wall_ns(c);
		for (unsigned f = 0; f <= FAMILY_COUNT; f++)
			m.alike += is_alike(f, g->family) ? p->taken_ns[f] : 0;
		return m;
	}
	m.ns = tally_window(g->panes, pane, &m.count);
	m.wall = (uint64_t)TALLY_PANES * TALLY_PANE_NS;
	for (unsigned f = 0; f <= FAMILY_COUNT; f++)
		m.alike += p->taken_panes && is_alike(f, g->family)
				   ? tally_window(p->taken_panes[f], pane, &count)
				   : 0;
	return m;
}

static bool material(const struct cause *c, const struct measure *m, double min_share)
{
	return m->ns >= c->opt.min_lost_ns && cause_often(c, m->count, m->worst, m->wall) &&
	       m->wall > 0 && (double)m->worst >= min_share * (double)m->wall &&
	       (double)m->ns >= c->opt.min_explained * (double)m->alike;
}

static int tell(struct cause *c, struct tally_group *g, struct err *e)
{
	const struct detector *d = g->kind ? detect_named(g->kind) : detect_for(c, g);
	double steps;

	if (!d)
		return 0;
	g->kind = d->kind;
	steps = without_step_share(c, g);
	g->severity = cause_severity(steps > g->worst_share ? steps : g->worst_share);
	if (g->revision++ == 0)
		c->chains++;
	c->tally.processes.v[g->process].told = true;
	g->told_ns = g->ns;
	g->told_count = g->count;
	return chain_tell(c, g, d, c->settled_ns, e);
}

static int settle_window(struct cause *c, struct tally_group *g, int64_t pane, struct err *e)
{
	struct measure m;
	double share;

	if (!g->process || g->last_ns / TALLY_PANE_NS <= pane - TALLY_PANES)
		return 0;
	m = measure_of(c, g, pane);
	if (!material(c, &m, c->opt.min_share))
		return 0;
	share = (double)m.worst / (double)m.wall;
	if (share > g->worst_share)
		g->worst_share = share;
	if (g->revision && g->ns < 2 * g->told_ns && cause_severity(g->worst_share) <= g->severity)
		return 0;
	return tell(c, g, e);
}

struct due {
	uint32_t group;
	uint64_t ns;
};

static int by_lost(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

/* The takers of a process's CPUs that are not told alone as one group, UINT32_MAX where there are none. False: out of memory. */
static bool several(struct cause *c, uint32_t process, uint32_t *at)
{
	struct tally_process *p = &c->tally.processes.v[process];
	struct tally_group all = { .process = process, .family = FAMILY_CPU };
	uint64_t most = 0;
	size_t n = p->groups.n;

	*at = UINT32_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct tally_group *g = &c->tally.groups.v[p->groups.v[i]];

		if (g->family != FAMILY_CPU || g->revision)
			continue;
		if (all.count == 0 || g->first_ns < all.first_ns)
			all.first_ns = g->first_ns;
		if (g->last_ns > all.last_ns)
			all.last_ns = g->last_ns;
		most = g->ns > most ? g->ns : most;
		all.ns += g->ns;
		all.count += g->count;
		all.part_ns[PART_PREEMPTED] += g->part_ns[PART_PREEMPTED];
		all.part_ns[PART_RUNQ] += g->part_ns[PART_RUNQ];
		for (unsigned k = 0; k < g->cpu_us.n; k++) {
			if (!tally_wait_at(&all, k, g->cpu_us.v[k]))
				goto failed;
		}
		for (size_t k = 0; k < g->rows.n; k++) {
			if (!vec_push(&all.rows, g->rows.v[k]))
				goto failed;
		}
		for (size_t k = 0; k < g->hits.n; k++) {
			if (!vec_push(&all.hits, g->hits.v[k]))
				goto failed;
		}
		for (unsigned k = 0; k < TALLY_WORST; k++)
			tally_worst_add(&all, &g->worst[k]);
	}
	/* Where most of it is one's doing these are not several. */
	if (all.count == 0 || most > all.ns / 2)
		goto nothing;
	if (!vec_push(&c->tally.groups, all))
		goto failed;
	*at = (uint32_t)c->tally.groups.n - 1;
	return true;
nothing:
	vec_free(&all.rows);
	vec_free(&all.hits);
	vec_free(&all.cpu_us);
	return true;
failed:
	vec_free(&all.rows);
	vec_free(&all.hits);
	vec_free(&all.cpu_us);
	return false;
}

/* Whether the whole recording makes this group worth telling. What was told before is told again: its shares are now of
 * the whole. */
static bool due_at_end(struct cause *c, uint32_t at, double min_share)
{
	struct tally_group *g = &c->tally.groups.v[at];
	struct measure m = measure_of(c, g, INT64_MAX);
	double share = m.wall ? (double)m.worst / (double)m.wall : 0;

	if (!material(c, &m, min_share))
		return g->revision > 0;
	if (share > g->worst_share)
		g->worst_share = share;
	return true;
}

static int settle_end(struct cause *c, struct err *e)
{
	VEC(struct due) due = { 0 };
	struct tally *t = &c->tally;
	size_t ngroups = t->groups.n;
	int rc = 0;

	for (size_t i = 0; i < ngroups; i++) {
		if (t->groups.v[i].process && due_at_end(c, (uint32_t)i, c->opt.min_share) &&
		    !vec_push(&due, (struct due){ (uint32_t)i, t->groups.v[i].ns }))
			goto nomem;
	}
	if (due.n)
		qsort(due.v, due.n, sizeof(*due.v), by_lost);
	for (size_t i = 0; i < due.n && rc == 0; i++)
		rc = tell(c, &t->groups.v[due.v[i].group], e);
	for (size_t i = 0; i < t->order.n && rc == 0; i++) {
		uint32_t at;

		if (!several(c, t->order.v[i], &at))
			goto nomem;
		if (at == UINT32_MAX)
			continue;
		if (due_at_end(c, at,
			       c->opt.min_share > SEVERAL_SHARE ? c->opt.min_share : SEVERAL_SHARE))
			rc = tell(c, &t->groups.v[at], e);
		tally_group_free(&t->groups.v[--t->groups.n]);
	}
	vec_free(&due);
	return rc;
nomem:
	vec_free(&due);
	return err_nomem(e);
}

int cause_settle_last(struct cause *c, uint32_t process, struct err *e)
{
	const struct tally_process *p = &c->tally.processes.v[process];
	int rc = 0;

	for (size_t i = 0; i < p->groups.n && rc == 0; i++) {
		struct tally_group *g = &c->tally.groups.v[p->groups.v[i]];

		if (g->revision)
			rc = tell(c, g, e);
	}
	return rc;
}

int cause_settle(struct cause *c, int64_t pane, struct err *e)
{
	int rc = 0;

	c->ended = pane == INT64_MAX;
	c->settled_ns = c->ended ? c->end_ns : (pane + 1) * TALLY_PANE_NS;
	if (c->ended) {
		rc = settle_end(c, e);
		return rc < 0 ? rc : watches_settle(c, pane, e);
	}
	for (size_t i = 0; i < c->tally.groups.n && rc == 0; i++)
		rc = settle_window(c, &c->tally.groups.v[i], pane, e);
	if (rc < 0)
		return rc;
	return watches_settle(c, pane, e);
}
