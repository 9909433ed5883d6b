/* SPDX-License-Identifier: Apache-2.0 */
/* Sums waits in steps, and what of them lies in gaps of a device. */
#include "lib/account/step_stalls.h"

#include "lib/account/analysis_state.h"
#include "lib/account/loss_blame.h"
#include "lib/account/loss_times.h"
#include "lib/account/lost_time.h"

#define GAPS_SHARE 0.5 /* of them in gaps: then these are what is lost */

static uint64_t waited_for(const struct cause *c, uint32_t anchor, const struct track_part *p)
{
	return (uint64_t)cause_process_of(c, anchor) << 32 | p->leaf;
}

bool step_stalls_is_mains(const struct step_stalls *s, const struct cause *c, uint32_t anchor,
			  const struct track_part *p)
{
	uint64_t is;

	return p->leaf != anchor && !cause_is_main(c, anchor) &&
	       map_get(&s->main, waited_for(c, anchor, p), &is);
}

/* Whether it only computes, and does nothing that is known to be better done elsewhere. */
static bool is_own(uint32_t anchor, const struct loss_blame *b, const struct track_part *p)
{
	return loss_is_own_code(anchor, p) && !(b->sort >> LOSS_WORK_SHIFT);
}

/* ---- sums ---- */

static void add_share(struct step_stall *x, uint32_t anchor, uint64_t ns, uint64_t steps_ns)
{
	double share;

	x->anchor_ns = (x->anchor == anchor ? x->anchor_ns : 0) + ns;
	x->anchor = anchor;
	share = steps_ns ? (double)x->anchor_ns / (double)steps_ns : 1;
	x->share = share > x->share ? share : x->share;
}

/* steps_ns: of all the anchor's steps. */
static bool add_part(struct step_stalls *s, struct cause *c, uint32_t anchor,
		     const struct track_part *p, uint64_t steps_ns)
{
	struct loss_blame b = loss_blame_idle(c, anchor, p);
	uint64_t key, at;

	if (p->leaf != anchor && cause_is_main(c, anchor) &&
	    !map_put(&s->main, waited_for(c, anchor, p), 1))
		return false;
	if (b.family == LOSS_FAMILIES || !loss_is_step_stall(c, anchor, p) ||
	    loss_is_elsewhere(c, cause_process_of(c, anchor), p) ||
	    loss_is_crowded(c, anchor, p) ||
	    (is_own(anchor, &b, p) && line_calls_makes(&s->lines, c, anchor, p)))
		return true;
	key = loss_blame_key(c, anchor, &b);
	if (!map_get(&s->of, key, &at)) {
		at = s->v.n;
		if (!vec_push(&s->v, (struct step_stall){ 0 }) || !map_put(&s->of, key, at))
			return false;
	}
	s->v.v[at].ns += p->ns;
	add_share(&s->v.v[at], anchor, p->ns, steps_ns);
	s->v.v[at].gap_ns +=
		idle_shares_gap_ns(&c->lost_time.idle_shares, c, anchor, &b, p, false) +
		idle_shares_gap_ns(&c->lost_time.idle_shares, c, anchor, &b, p, true);
	return true;
}

static uint64_t steps_ns(const struct track *t)
{
	for (unsigned i = 0; i < t->nphases; i++)
		if (t->phases[i].window == WINDOW_STEPS)
			return t->phases[i].ns;
	return 0;
}

bool step_stalls_sum(struct step_stalls *s, struct cause *c, struct track_parts *parts)
{
	step_stalls_free(s);
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);

		if (!t.loop || !cause_process_of(c, t.anchor))
			continue;
		if (!path_tracks_parts(c->tracks, i, WINDOW_STEPS, parts))
			return false;
		if (!line_calls_note(&s->lines, c, &t, parts))
			return false;
		for (size_t k = 0; k < parts->v.n; k++)
			if (!add_part(s, c, t.anchor, &parts->v.v[k], steps_ns(&t)))
				return false;
	}
	return true;
}

enum step_stall_lost step_stalls_lost(const struct step_stalls *s, const struct cause *c,
				      uint32_t anchor, const struct loss_blame *b,
				      const struct track_part *p)
{
	const struct step_stall *x;
	uint64_t at;

	if (b->family == LOSS_FAMILIES || !loss_is_step_stall(c, anchor, p) ||
	    step_stalls_is_mains(s, c, anchor, p) ||
	    (is_own(anchor, b, p) && line_calls_makes(&s->lines, c, anchor, p)) ||
	    !map_get(&s->of, loss_blame_key(c, anchor, b), &at))
		return STALL_IN_GAPS;
	x = &s->v.v[at];
	if ((double)x->gap_ns >= GAPS_SHARE * (double)x->ns)
		return STALL_IN_GAPS;
	return x->share < STEP_STALL_OWN && is_own(anchor, b, p) ? STALL_PARTLY : STALL_WHOLE;
}

void step_stalls_free(struct step_stalls *s)
{
	map_free(&s->of);
	map_free(&s->main);
	line_calls_free(&s->lines);
	vec_free(&s->v);
}
