/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counterfactual of a finding, by two calculations: subtraction takes what the loss took out of
 * the path, the replay (gains.h) lets all threads and the device run without it. The truth was seen
 * between them and a little beyond. A loss that was not replayed (too many of them, too little of
 * it retained) has subtraction alone, less what the device would have been waited for instead.
 */
#include "lib/account/without.h"

#include "lib/account/names.h"
#include "lib/world/known_work.h"

/* How far second runs of the scenarios (tests/scenarios, doses of 20 and 50 %, seed 1) were beyond
 * both calculations, of the time that remains: below them by up to 7.5 % (what runs beside a hog
 * being slower by itself), above by up to 1.4 %. Held against seed 2 and rows that were not used.
 * And of what is gained, what goes with it besides: without two questions that take 66 % of a step
 * (tests/live/without.t) a second run was 4 to 5.5 % of that below. It is what the program does for
 * its trouble on the CPU, and what probes cost there, as the second run was not recorded.
 */
#define FASTER	0.08
#define SLOWER	0.02
#define TROUBLE 0.04

/* Less than so much of a step is nothing: the loss lies between the steps. */
#define STEP_SHARE 0.005

static struct finding_without make_without(const char *what, double from, double most, double least,
					   bool replayed)
{
	most = most > from ? from : most < 0 ? 0 : most;
	least = least > most ? most : least < 0 ? 0 : least;
	return (struct finding_without){ .what = bytes_of(what),
					 .replayed = replayed,
					 .from_ns = (uint64_t)from,
					 .low_ns = (uint64_t)(from - most),
					 .high_ns = (uint64_t)(from - least) };
}

static void add_without(struct finding *to, const char *what, double from, double most,
			double least, bool replayed)
{
	struct finding_without *w = finding_add(to, without);

	if (w)
		*w = make_without(what, from, most, least, replayed);
}

/* Gains by both calculations, between which the truth is. */
struct gain {
	double least, most;
};

/* What is gained by subtraction is all of the loss, by replay one or the other; no more than leaves
 * room for the work of the busiest thread, and of the device. */
static struct gain gain_of(double lost, const int64_t replayed[REPLAY_ENDS], double scale,
			   double most)
{
	struct gain g = { lost, lost };

	for (unsigned i = 0; i < REPLAY_ENDS; i++) {
		double ns = (double)replayed[i] * scale;

		g.least = ns < g.least ? ns : g.least;
		g.most = ns > g.most ? ns : g.most;
	}
	g.most = g.most > most ? most : g.most;
	g.least = g.least > g.most ? g.most : g.least;
	return g;
}

static struct gain widen_gain(struct gain g, double from)
{
	g.most += FASTER * (from - g.most) + TROUBLE * g.most;
	g.least -= SLOWER * (from - g.least);
	return g;
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

/* A wait that had not ended: how long it would have lasted is not known; a sleep that keeps a pace;
 * or, of a program that makes no steps, a wait for what comes from outside: there may have been
 * nothing to do. */
static bool is_no_gain(const struct loss *x, const struct loop *loop)
{
	bool outside = x->sort & LOSS_OUTSIDE && !(x->sort & (LOSS_BESIDE | LOSS_WRITES)) && !loop;

	return x->of.idle.unended_ns > x->ns / 2 || x->sort & LOSS_PACED || outside;
}

/* How much of the replayed time is neither work of a thread that the path needs, nor work of a
 * device. */
static double room_of(const struct loss_gain *g)
{
	uint64_t work = g->of.busiest_ns > g->device_ns ? g->of.busiest_ns : g->device_ns;

	return work < g->whole_ns ? (double)(g->whole_ns - work) : 0;
}

/* An average step without what took lost_ns of all of them. False: it would be the same. */
static bool step_without(const struct loss_gain *g, double lost_ns, const struct loop *loop,
			 struct finding_without *to)
{
	double steps = (double)track_mean_count(loop), from = (double)loop->ns / steps;
	struct gain step =
		gain_of(lost_ns, g->of.spans_ns, g->step_scale, room_of(g) * g->step_scale);

	step.least /= steps;
	step.most /= steps;
	if (step.most < STEP_SHARE * from)
		return false;
	step = widen_gain(step, from);
	*to = make_without("step", from, step.most, step.least, true);
	return true;
}

/* sure: share of the least that is gained in any case. */
static void fill_replayed(const struct loss_gain *g, const struct loss_thread *worst,
			  const struct loop *loop, double sure, double wall, struct finding *to)
{
	struct gain all =
		gain_of((double)worst->ns, g->of.whole_ns, g->scale, room_of(g) * g->scale);
	struct finding_without step, *w;

	if (loop && track_mean_count(loop) &&
	    step_without(g, (double)worst->step_ns, loop, &step)) {
		step.high_ns =
			step.from_ns - (uint64_t)(sure * (double)(step.from_ns - step.high_ns));
		w = finding_add(to, without);
		if (w)
			*w = step;
	}
	all = widen_gain(all, wall);
	all.least *= sure;
	if (wall > 0)
		add_without(to, "wall", wall, all.most, all.least, true);
}

/* share: of what is lost, gained at most. */
static void fill_subtracted(const struct loss_thread *worst, const struct loop *loop, double keep,
			    double share, double wall, struct finding *to)
{
	uint64_t count = loop ? track_mean_count(loop) : 0;

	if (count && (double)worst->step_ns >= STEP_SHARE * (double)loop->ns) {
		double steps = (double)count;

		add_without(to, "step", (double)loop->ns / steps,
			    (double)worst->step_ns * share / steps,
			    (double)worst->step_idle_ns * keep / steps, false);
	}
	if (wall > 0)
		add_without(to, "wall", wall, (double)worst->ns * share,
			    (double)worst->idle_ns * keep, false);
}

/* Threads that take turns on too few CPUs: what they do is needed, and how much of it is waiting
 * for each other is not known. */
static void fill_turns(const struct loss_thread *worst, const struct loop *loop, double wall,
		       struct finding *to)
{
	double most = (double)worst->step_ns, from, steps;

	if (loop && track_mean_count(loop) && most >= STEP_SHARE * (double)loop->ns) {
		steps = (double)track_mean_count(loop);
		from = (double)loop->ns / steps;
		most = widen_gain((struct gain){ 0, most / steps }, from).most;
		add_without(to, "step", from, most, 0, false);
	}
	most = (double)worst->ns;
	most += FASTER * most; /* beyond it the rest of the recording is as it was */
	if (wall > 0)
		add_without(to, "wall", wall, most, 0, false);
}

/* Memory that is kept is not cleared, but still written to, which page faults had brought into the
 * caches: 54 and 57 % of their time was gained by keeping a buffer of 60 MiB (measured, without a
 * GPU). */
#define FAULTS_SURE 0.5

static double sure_share(const struct loss *x)
{
	return x->family == LOSS_IDLE && x->sort >> LOSS_WORK_SHIFT == KNOWN_WORK_FAULTS
		       ? FAULTS_SURE
		       : 1;
}

void without_fill_loss(const struct loss_view *f, struct finding *to)
{
	const struct loss_thread *worst = loss_worst_thread(f->loss);
	const struct loop *loop =
		worst && f->c->ended && !f->loss->outside ? loop_of(f->c, worst->anchor) : NULL;
	const struct loss_gain *gain = f->c->ended ? gains_of(f->c, f->loss) : NULL;
	double keep = 1 - (f->others < 0 ? 0 : f->others > 1 ? 1 : f->others);
	double wall = (double)cause_wall_ns(f->c);

	if (!worst || (f->loss->family == LOSS_IDLE && is_no_gain(f->loss, loop)))
		return;
	if (loss_polls(f->loss)) {
		keep = 0;
		gain = NULL;
	}
	if (f->loss->sort & LOSS_TURNS && f->loss->family == LOSS_CPU)
		fill_turns(worst, loop, wall, to);
	else if (gain)
		fill_replayed(gain, worst, loop, sure_share(f->loss), wall, to);
	else
		fill_subtracted(worst, loop, keep, loss_gain_share(f->loss), wall, to);
}

void without_fill_fact(const struct cause *c, const struct fact *f, struct finding *to)
{
	double wall = (double)cause_wall_ns(c), most = f->share * wall;

	if (most > (double)f->lost_ns)
		most = (double)f->lost_ns;
	if (f->lost_ns && wall > 0 && f->gain != FACT_GAIN_NOTHING)
		add_without(to, "wall", wall, most, f->gain == FACT_GAIN_ALL ? most : 0, false);
}

void without_all_json(const struct cause *c, struct jsonw *j)
{
	jsonw_key_array(j, "without_all");
	for (size_t i = 0; i < c->gains.anchors.n; i++) {
		const struct anchor_gain *a = &c->gains.anchors.v[i];
		const struct world_thread *th = world_get_thread(c->w, a->anchor);
		const struct loop *loop = loop_of(c, a->anchor);
		struct finding_without step;

		if (a->losses < 2 || !th || !loop || !loop->estimate || a->all.step_scale <= 0 ||
		    !step_without(&a->all, (double)a->step_ns, loop, &step))
			continue;
		jsonw_object_begin(j);
		name_process_keys(j, c->w, &c->tally, th->process);
		jsonw_key_u64(j, "tid", th->tid);
		jsonw_key_u64(j, "causes", a->losses);
		jsonw_key_u64(j, "from_ns", step.from_ns);
		jsonw_key_u64(j, "low_ns", step.low_ns);
		jsonw_key_u64(j, "high_ns", step.high_ns);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}
