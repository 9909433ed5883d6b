/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays the worst-hit threads of the largest losses, each loss in a lane of its own: REPLAY_ALL
 * losses, GAIN_ANCHORS threads.
 */
#include "lib/account/gains.h"

#include "lib/account/analysis_state.h"

/* Each is a pass over what is retained. */
#define GAIN_ANCHORS 4

/* Where the replay met less of the loss than this, or more than its inverse, it is not about the
 * same. */
#define GAIN_COVERED 0.5

/* Whether something would be gained by it is asked of what has a length, and lies in the steps. */
static bool is_worth(const struct loss *x)
{
	return x->process && x->ns && !x->outside && !(x->sort & LOSS_TURNS) &&
	       !(x->family == LOSS_IDLE && x->of.idle.unended_ns > x->ns / 2);
}

/* What the program computes itself can be done meanwhile, but not left out; what Python does
 * besides can. */
static bool is_own_work(const struct loss *x)
{
	return x->family == LOSS_IDLE && !(x->sort & LOSS_BESIDE) &&
	       (x->sort & LOSS_STATE) == PART_SELF && !(x->sort >> LOSS_WORK_SHIFT);
}

/* Not of what goes when all losses go at once. How long a poll would be without its sleeps, no
 * replay knows. */
static bool is_kept_at_once(const struct loss *x)
{
	return is_own_work(x) || loss_polls(x);
}

static bool choose_losses(struct gains *g, const struct lost_time *l)
{
	g->v.n = 0;
	for (uint32_t i = 0; i < l->v.n; i++) {
		const struct loss *x = &l->v.v[i];
		size_t at = g->v.n;

		if (!is_worth(x))
			continue;
		while (at > 0 && l->v.v[g->v.v[at - 1].loss].ns < x->ns)
			at--;
		if (at == REPLAY_ALL)
			continue;
		if (g->v.n == REPLAY_ALL)
			g->v.n--;
		if (!vec_reserve(&g->v, 1))
			return false;
		memmove(&g->v.v[at + 1], &g->v.v[at], (g->v.n - at) * sizeof(g->v.v[0]));
		g->v.v[at] = (struct loss_gain){ .loss = i };
		g->v.n++;
	}
	return true;
}

static bool mark_parts(const struct gains *g, struct cause *c, struct replay *r)
{
	const struct lost_time *l = &c->lost_time;

	for (size_t i = 0; i < l->marks.n; i++)
		for (unsigned lane = 0; lane < g->v.n; lane++)
			if (g->v.v[lane].loss == l->marks.v[i].loss &&
			    !path_tracks_replay_mark(c->tracks, r, l->marks.v[i].anchor,
						     l->marks.v[i].number, lane,
						     is_kept_at_once(&l->v.v[g->v.v[lane].loss])))
				return false;
	return true;
}

/* How much more of the loss there is than what was replayed; 0: they do not agree. */
static double scale_of(uint64_t ns, uint64_t replayed_ns, bool all)
{
	double share = ns ? (double)replayed_ns / (double)ns : 1;

	if (!ns)
		return 1;
	if (share < GAIN_COVERED || share > 1 / GAIN_COVERED)
		return 0;
	return all ? 1 : 1 / share;
}

/* What each loss took of this thread's steps is a part of its own, so that they sum. */
static bool add_anchor(struct gains *g, const struct cause *c, uint32_t anchor,
		       const struct replay_gains *out)
{
	struct anchor_gain a = { .anchor = anchor,
				 .all = { .anchor = anchor,
					  .of = out->lanes[REPLAY_ALL],
					  .device_ns = out->device_ns,
					  .whole_ns = out->whole_ns } };

	for (size_t i = 0; i < g->v.n; i++) {
		const struct loss *x = &c->lost_time.v.v[g->v.v[i].loss];

		for (size_t k = 0; k < x->threads.n && !is_kept_at_once(x); k++) {
			if (x->threads.v[k].anchor != anchor || !x->threads.v[k].step_ns)
				continue;
			a.step_ns += x->threads.v[k].step_ns;
			a.losses++;
		}
	}
	a.all.step_scale = scale_of(a.step_ns, a.all.of.spans_path_ns, out->is_all);
	return vec_push(&g->anchors, a);
}

/* The lanes whose loss this thread has most of. */
static bool replay_anchor(struct gains *g, struct cause *c, struct replay *r, uint32_t anchor)
{
	struct replay_gains out;

	if (!path_tracks_replay_run(c->tracks, r, anchor, &out))
		return false;
	for (size_t i = 0; i < g->v.n; i++) {
		const struct loss *x = &c->lost_time.v.v[g->v.v[i].loss];
		const struct loss_thread *worst = loss_worst_thread(x);
		struct loss_gain *gain = &g->v.v[i];

		if (!worst || worst->anchor != anchor)
			continue;
		gain->of = out.lanes[i];
		gain->device_ns = out.device_ns;
		gain->whole_ns = out.whole_ns;
		gain->scale = scale_of(worst->ns, gain->of.whole_path_ns, out.is_all);
		gain->step_scale = scale_of(worst->step_ns, gain->of.spans_path_ns, out.is_all);
		if (gain->scale > 0 && gain->step_scale > 0)
			gain->anchor = anchor;
	}
	return add_anchor(g, c, anchor, &out);
}

bool gains_make(struct gains *g, struct cause *c)
{
	uint32_t anchors[GAIN_ANCHORS];
	unsigned n = 0;
	struct replay *r;
	bool ok = choose_losses(g, &c->lost_time);

	if (!ok || !g->v.n)
		return ok;
	r = path_tracks_replay_new(c->tracks);
	ok = r && mark_parts(g, c, r);
	for (size_t i = 0; ok && i < g->v.n && n < GAIN_ANCHORS; i++) {
		const struct loss_thread *worst =
			loss_worst_thread(&c->lost_time.v.v[g->v.v[i].loss]);
		unsigned k = 0;

		while (worst && k < n && anchors[k] != worst->anchor)
			k++;
		if (!worst || k < n)
			continue;
		anchors[n++] = worst->anchor;
		ok = replay_anchor(g, c, r, worst->anchor);
	}
	replay_free(r);
	return ok;
}

const struct loss_gain *gains_of(const struct cause *c, const struct loss *x)
{
	const struct loss *v = c->lost_time.v.v;

	for (size_t i = 0; i < c->gains.v.n; i++)
		if (&v[c->gains.v.v[i].loss] == x)
			return c->gains.v.v[i].anchor ? &c->gains.v.v[i] : NULL;
	return NULL;
}

void gains_free(struct gains *g)
{
	vec_free(&g->v);
	vec_free(&g->anchors);
}
