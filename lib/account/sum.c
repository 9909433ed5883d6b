/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of watches, and when they are due.
 */
#include "lib/account/sum.h"

#include "lib/account/analysis_state.h"

void cause_sum_add(const struct cause *c, struct cause_sum *s, const struct sum_worst *w)
{
	int64_t start = w->end_ns - (int64_t)w->dur_ns;
	unsigned at = SUM_WORST;

	if (s->count++ == 0 || start < s->first_ns)
		s->first_ns = start;
	s->last_ns = w->end_ns;
	s->ns += w->lost_ns;
	cause_found_add(&s->found, c, w->thread, w->tiers ? w->tiers : 1u << op_tier(w->op),
			w->end_ns, w->lost_ns);
	if (w->lost_ns > s->max_ns)
		s->max_ns = w->lost_ns;
	tally_pane_add(s->panes, w->end_ns / TALLY_PANE_NS, w->lost_ns, 1);
	while (at > 0 && w->lost_ns > s->worst[at - 1].lost_ns)
		at--;
	if (at == SUM_WORST)
		return;
	for (unsigned k = SUM_WORST - 1; k > at; k--)
		s->worst[k] = s->worst[k - 1];
	s->worst[at] = *w;
}

static double share_of(const struct cause_sum *s, uint64_t ns, uint64_t wall)
{
	return wall ? (double)ns / (double)wall / (s->threads ? s->threads : 1) : 0;
}

struct cause_estimate cause_sum_estimate(const struct cause *c, const struct cause_sum *s)
{
	return cause_found_estimate(&s->found, c, s->ns, s->count);
}

bool cause_sum_due(const struct cause *c, struct cause_sum *s, int64_t pane, double min_share)
{
	uint64_t wall, ns = s->ns, count = s->count;
	double share;

	if (pane == INT64_MAX) {
		struct cause_estimate e = cause_sum_estimate(c, s);

		wall = cause_estimate_wall_ns(&e, c);
		ns = (uint64_t)((double)ns * e.ns_factor);
	} else {
		wall = cause_found_window_ns(&s->found, c, pane);
		ns = tally_window(s->panes, pane, &count);
	}
	share = share_of(s, ns, wall);
	if (!fact_material(c, ns, count, wall) || share < min_share)
		return pane == INT64_MAX && s->told.revision > 0;
	if (!fact_due(c, &s->told, s->ns, share))
		return false;
	if (share > s->told.worst_share)
		s->told.worst_share = share;
	return true;
}

void cause_sum_fill(const struct cause *c, const struct cause_sum *s, struct fact *f,
		    const char *moment)
{
	f->estimate = cause_sum_estimate(c, s);
	f->first_ns = s->first_ns;
	f->last_ns = s->last_ns;
	f->lost_ns = s->ns;
	f->count = s->count;
	f->share = share_of(s, (uint64_t)((double)s->ns * f->estimate.ns_factor), cause_wall_ns(c));
	f->nmoments = 0;
	for (unsigned i = 0; i < SUM_WORST && s->worst[i].lost_ns; i++) {
		const struct sum_worst *w = &s->worst[i];
		unsigned at = f->nmoments++;

		for (; at > 0 && f->moments[at - 1].end_ns > w->end_ns; at--)
			f->moments[at] = f->moments[at - 1];
		f->moments[at] = (struct fact_moment){ .end_ns = w->end_ns,
						       .dur_ns = w->dur_ns,
						       .lost_ns = w->lost_ns,
						       .thread = w->thread,
						       .op = w->op,
						       .event_ns = w->event_ns,
						       .text = moment };
	}
}
