/* SPDX-License-Identifier: Apache-2.0 */
/* Sums it over the slow steps, which such steps are. */
#include "lib/account/loss_early.h"

#include "lib/account/analysis_state.h"
#include "lib/account/loss_blame.h"
#include "lib/account/lost_time.h"

#define EARLY_PART 8 /* so many times as many steps there are as are called the first ones */

static struct loss *find_loss(struct lost_time *l, uint32_t process, uint32_t culprit,
			      unsigned sort)
{
	const struct loss key = {
		.process = process, .culprit = culprit, .family = LOSS_IDLE, .sort = sort
	};
	uint64_t at;

	return map_get(&l->by, loss_key(&key), &at) ? &l->v.v[at] : NULL;
}

static void add_part(struct lost_time *l, struct cause *c, uint32_t anchor,
		     const struct track_part *p)
{
	const struct loss_blame b = loss_blame_idle(c, anchor, p);
	const struct line_culprit *who = culprit_get(c->tally.culprits, b.culprit);
	uint32_t process = cause_process_of(c, anchor), culprit = who ? who->base : 0;
	struct loss *x;

	if (b.family != LOSS_IDLE || !(b.sort >> LOSS_WORK_SHIFT))
		return;
	x = find_loss(l, process, culprit, b.sort);
	if (x)
		x->of.idle.early_ns += x->of.idle.whole ? p->ns : p->gap_ns;
	x = find_loss(l, process, culprit, b.sort | LOSS_AT_MOST);
	if (x)
		x->of.idle.early_ns += p->at_most_ns;
}

bool loss_early_sum(struct lost_time *l, struct cause *c, struct track_parts *parts)
{
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		const struct track t = path_tracks_get(c->tracks, i);
		const struct step_stats *stats = path_tracks_steps(c->tracks, i);

		if (!t.loop || !stats || !cause_process_of(c, t.anchor))
			continue;
		for (size_t k = 0; k < stats->slow.n; k++) {
			const struct slow_step *step = &stats->slow.v[k];

			if ((step->number - 1) * EARLY_PART >= t.loop->count)
				continue;
			if (!path_tracks_slow_parts(c->tracks, i, step, parts))
				return false;
			for (size_t n = 0; n < parts->v.n; n++)
				add_part(l, c, t.anchor, &parts->v.v[n]);
		}
	}
	return true;
}

double loss_later_share(const struct loss *x)
{
	uint64_t early = x->family == LOSS_IDLE ? x->of.idle.early_ns : 0;

	return early < x->ns ? 1 - (double)early / (double)x->ns : x->ns ? 0 : 1;
}
