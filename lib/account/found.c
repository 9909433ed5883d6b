/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses of a recording are known up to the time that is looked at, and the first one of a tier
 * never changes once it is known.
 */
#include "lib/account/found.h"

#include "lib/account/analysis_state.h"

static uint32_t node_of(const struct cause *c, uint32_t thread)
{
	const struct world_thread *t = world_get_thread(c->w, thread);
	const struct world_process *p = t ? world_get_process(c->w, t->process) : NULL;

	return p ? p->node : 0;
}

void cause_found_add(struct cause_found *f, const struct cause *c, uint32_t thread, unsigned tiers,
		     int64_t end_ns, uint64_t lost_ns)
{
	f->thread = thread;
	f->tiers |= tiers;
	if (c->paused.lists.n && paused_first(&c->paused, node_of(c, thread), tiers) < end_ns)
		return;
	f->whole_ns += lost_ns;
	f->whole_count++;
}

static double factor_of(uint64_t measured, uint64_t whole, double more)
{
	if (!measured || whole >= measured)
		return 1;
	return ((double)whole + (double)(measured - whole) * more) / (double)measured;
}

struct cause_estimate cause_found_estimate(const struct cause_found *f, const struct cause *c,
					   uint64_t ns, uint64_t count)
{
	struct cause_estimate e = { .ns_factor = 1, .count_factor = 1, .covered = 1 };
	uint64_t wall = cause_wall_ns(c), since, paused;
	uint32_t node = node_of(c, f->thread);
	int64_t first;

	if (!c->paused.lists.n)
		return e;
	first = paused_first(&c->paused, node, f->tiers);
	if (first >= c->settled_ns || wall == 0)
		return e;
	first = first > c->start_ns ? first : c->start_ns;
	since = (uint64_t)(c->settled_ns - first);
	paused = paused_any_ns(&c->paused, node, f->tiers, first, c->settled_ns);
	e.is = true;
	e.covered = 1 - (double)paused / (double)wall;
	if (!paused_is_known((double)(since - paused), (double)since, count - f->whole_count)) {
		e.least = true;
		return e;
	}
	e.ns_factor = factor_of(ns, f->whole_ns, (double)since / (double)(since - paused));
	e.count_factor = factor_of(count, f->whole_count, (double)since / (double)(since - paused));
	return e;
}

uint64_t cause_estimate_wall_ns(const struct cause_estimate *e, const struct cause *c)
{
	uint64_t wall = cause_wall_ns(c);

	return e->least && e->covered > 0 ? (uint64_t)((double)wall * e->covered) : wall;
}

uint64_t cause_found_window_ns(const struct cause_found *f, const struct cause *c, int64_t pane)
{
	int64_t ns = (int64_t)TALLY_PANES * TALLY_PANE_NS, end_ns = (pane + 1) * TALLY_PANE_NS,
		covered;
	uint32_t node;

	if (!c->paused.lists.n)
		return (uint64_t)ns;
	node = node_of(c, f->thread);
	if (paused_first(&c->paused, node, f->tiers) > end_ns - ns)
		return (uint64_t)ns;
	covered = ns - (int64_t)paused_any_ns(&c->paused, node, f->tiers, end_ns - ns, end_ns);
	return (double)covered > PAUSED_COVERED_MIN * (double)ns
		       ? (uint64_t)covered
		       : (uint64_t)(PAUSED_COVERED_MIN * (double)ns);
}
