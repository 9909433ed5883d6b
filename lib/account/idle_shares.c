/* SPDX-License-Identifier: Apache-2.0 */
/* Sums waits and own code by what makes them one loss, and what of it was seen in gaps. */
#include "lib/account/idle_shares.h"

#include "lib/base/hash.h"
#include "lib/account/analysis_state.h"
#include "lib/account/loss_blame.h"
#include "lib/account/loss_gaps.h"

/* Of its own code each line of its loop counts for itself, or what it did behind each call: while
 * it launches, the device works. */
static uint64_t key_of(const struct cause *c, uint32_t anchor, const struct loss_blame *b,
		       const struct track_part *p)
{
	bool own = p->class == PATH_OWN && p->leaf == anchor;
	uint64_t place = p->sampled ? p->place : (uint64_t)p->line << 32 | p->op;

	return loss_blame_key(c, anchor, b) ^ (own ? hash_u64(place) : 0);
}

static bool add_part(struct idle_shares *s, struct cause *c, uint32_t anchor, double factor,
		     const struct track_part *p)
{
	struct loss_blame b = loss_blame_idle(c, anchor, p);
	uint64_t key, at;

	if (b.family == LOSS_FAMILIES || loss_is_crowded(c, anchor, p))
		return true;
	key = key_of(c, anchor, &b, p);
	if (!map_get(&s->of, key, &at)) {
		at = s->v.n;
		if (!vec_push(&s->v, (struct idle_share){ .factor = factor }) ||
		    !map_put(&s->of, key, at))
			return false;
	}
	s->v.v[at].ns += p->ns;
	s->v.v[at].gap_ns += p->gap_ns;
	s->v.v[at].at_most_ns += p->at_most_ns;
	return true;
}

bool idle_shares_sum(struct idle_shares *s, struct cause *c, struct track_parts *parts)
{
	idle_shares_free(s);
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);
		uint32_t process = cause_process_of(c, t.anchor);
		double factor = process ? loss_gaps_factor(c, process) : 1;

		for (unsigned k = 0; k < t.nphases && factor > 1; k++) {
			if (!track_phase_counts(&t, &t.phases[k]))
				continue;
			if (!path_tracks_parts(c->tracks, i, t.phases[k].window, parts))
				return false;
			for (size_t n = 0; n < parts->v.n; n++)
				if (!add_part(s, c, t.anchor, factor, &parts->v.v[n]))
					return false;
		}
	}
	return true;
}

uint64_t idle_shares_gap_ns(const struct idle_shares *s, const struct cause *c, uint32_t anchor,
			    const struct loss_blame *b, const struct track_part *p, bool at_most)
{
	uint64_t ns = at_most ? p->at_most_ns : p->gap_ns, at;
	const struct idle_share *x;
	double share, sure;

	if (!s->v.n || b->family == LOSS_FAMILIES ||
	    !map_get(&s->of, key_of(c, anchor, b, p), &at) || !s->v.v[at].ns)
		return ns;
	x = &s->v.v[at];
	sure = x->factor * (double)x->gap_ns / (double)x->ns;
	sure = sure > 1 ? 1 : sure;
	share = x->factor * (double)x->at_most_ns / (double)x->ns;
	share = !at_most ? sure : share > 1 - sure ? 1 - sure : share;
	return (uint64_t)(share * (double)p->ns);
}

void idle_shares_free(struct idle_shares *s)
{
	map_free(&s->of);
	vec_free(&s->v);
}
