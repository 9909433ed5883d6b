/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loss took lies on the path: without it the path is as much shorter, less what the device would have been waited
 * for instead.
 */
#include "lib/cause/without.h"

static void add_without(struct finding *to, const char *what, double from, double most,
			double least)
{
	struct finding_without *w = finding_add(to, without);

	most = most > from ? from : most < 0 ? 0 : most;
	least = least > most ? most : least < 0 ? 0 : least;
	if (w)
		*w = (struct finding_without){ .what = bytes_of(what),
					       .from_ns = (uint64_t)from,
					       .low_ns = (uint64_t)(from - most),
					       .high_ns = (uint64_t)(from - least) };
}

/* The loop of a thread; NULL: none is known. */
static const struct loop *loop_of(const struct cause *c, uint32_t anchor)
{
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++) {
		struct track t = path_tracks_get(c->tracks, i);

		if (t.anchor == anchor)
			return t.loop;
	}
	return NULL;
}

/* A wait that had not ended: how long it would have lasted is not known; or a sleep that keeps a pace. */
static bool is_no_gain(const struct loss *x)
{
	return x->of.idle.unended_ns > x->ns / 2 || x->sort & LOSS_PACED;
}

void without_fill_loss(const struct loss_view *f, struct finding *to)
{
	const struct loss_thread *worst = loss_worst_thread(f->loss);
	const struct loop *loop =
		worst && f->c->ended && !f->loss->outside ? loop_of(f->c, worst->anchor) : NULL;
	double keep = 1 - (f->others < 0 ? 0 : f->others > 1 ? 1 : f->others);
	double most, least;

	if (!worst || (f->loss->family == LOSS_IDLE && is_no_gain(f->loss)))
		return;
	most = (double)worst->ns;
	least = (double)worst->idle_ns * keep;
	if (loop && loop->estimate) {
		double steps = (double)loop->estimate;

		add_without(to, "step", (double)loop->ns / steps, (double)worst->step_ns / steps,
			    (double)worst->step_idle_ns * keep / steps);
	}
	if (cause_wall_ns(f->c))
		add_without(to, "wall", (double)cause_wall_ns(f->c), most, least);
}

void without_fill_fact(const struct cause *c, const struct fact *f, struct finding *to)
{
	double wall = (double)cause_wall_ns(c), most = f->share * wall;

	if (most > (double)f->lost_ns)
		most = (double)f->lost_ns;
	if (f->lost_ns && wall > 0 && f->gain != FACT_GAIN_NOTHING)
		add_without(to, "wall", wall, most, f->gain == FACT_GAIN_ALL ? most : 0);
}
