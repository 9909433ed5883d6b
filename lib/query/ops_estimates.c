/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates in an answer about ops, from the parts that its rows keep (query/coverage.h). */
#include "lib/query/ops_internal.h"

/* Counted without processes: the machine's time stands for theirs. */
static struct estimate estimate_brief(const struct coverage *c, uint16_t op, struct estimate all)
{
	double scale = paused_scale(&c->paused, 0, op_tier(op), c->from_ns, c->to_ns);

	all.least = scale == 0;
	if (scale <= 1)
		return all;
	all.is = true;
	all.count = (uint64_t)((double)all.count * scale + 0.5);
	all.errors = (uint64_t)((double)all.errors * scale + 0.5);
	all.total_ns = (uint64_t)((double)all.total_ns * scale + 0.5);
	return all;
}

struct estimate ops_estimate_row(const struct coverage *c, const struct world *w,
				 const struct ops_row *row, const struct coverage_row *covered,
				 bool brief)
{
	const struct estimate counted = { .count = row->count,
					  .errors = row->errors,
					  .total_ns = row->total_ns,
					  .self_ns = row->self_ns,
					  .lost_ns = row->lost_ns };

	return brief ? estimate_brief(c, row->op->id, counted)
		     : coverage_estimate(c, w, covered, &counted);
}

struct estimate ops_estimate_process(const struct coverage *c, const struct world *w,
				     const struct ops_processes *processes, size_t at)
{
	const struct ops_process *p = &processes->v.v[at];
	const struct estimate counted = { .count = p->calls,
					  .errors = p->errors,
					  .total_ns = p->in_calls_ns,
					  .lost_ns = p->lost_ns };
	static const struct coverage_row none;
	struct estimate e = coverage_estimate(
		c, w, at < processes->covered.n ? &processes->covered.v[at] : &none, &counted);

	/* Calls of a tier of which it had made none may have been made, too. */
	for (unsigned tier = 0; tier < TIERS && p->calls; tier++)
		e.least |= coverage_is_unknown(c, w, p->process, tier);
	return e;
}

bool ops_estimates_add_paused(struct ops_summary *a, const struct coverage *c)
{
	double all = (double)(c->to_ns - c->from_ns);

	a->paused.n = 0;
	for (size_t i = 0; i < c->paused.lists.n; i++) {
		const struct paused_list *l = &c->paused.lists.v[i];
		struct ops_paused p = { .node = l->node, .tier = l->tier, .reason = l->reason };

		p.ns = paused_ns(&c->paused, l->node, l->tier, c->from_ns, c->to_ns);
		p.covered = all > 0 ? 1 - (double)p.ns / all : 1;
		p.least = paused_scale(&c->paused, l->node, l->tier, coverage_since(c), c->to_ns) ==
			  0;
		if (p.ns && !vec_push(&a->paused, p))
			return false;
	}
	return true;
}
