/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls are recorded in windows, waits all of the time: what is lost, what a step would be without
 * it and what is gained are all of all of it. Steps of 10 ms, in each of which a worker is waited
 * for while the device has nothing to do.
 */
#include "tests/tap.h"

#include "lib/event/tier.h"
#include "tests/unit/kinds.h"

#define STEP   (10 * MS)
#define STEPS  800
#define LENGTH (STEPS * STEP)
#define WAIT   (6 * MS)

static const struct shape {
	const char *name;
	int64_t first, every,
		window; /* from first on there is a window in every so many; 0: none */
	bool estimate;
} shapes[] = {
	{ "all of it", LENGTH, 0, 0, false },
	{ "four windows of ten", 500 * MS, 500 * MS, 200 * MS, true },
	{ "nothing from two fifths on", LENGTH * 2 / 5, LENGTH, 0, true },
};

static bool is_recorded(const struct shape *x, int64_t t)
{
	return t < x->first || (t - x->first) % x->every < x->window;
}

static void pause(struct stage *s, int64_t since, int64_t until)
{
	static const enum op_tier tiers[] = { TIER_LAUNCHES, TIER_WAITS };

	for (unsigned i = 0; i < 2; i++) {
		struct record *r = stage_record(s, RECORD_PAUSED);

		REC_SET(r, PAUSED, since_ns, since);
		REC_SET(r, PAUSED, until_ns, until);
		REC_SET(r, PAUSED, tier, tiers[i]);
		REC_SET(r, PAUSED, reason, bytes_of("budget"));
	}
}

static void step(struct stage *s, struct actor v, struct actor worker, const struct shape *x,
		 int64_t t)
{
	struct event *ev;

	for (unsigned k = 0; k < 4 && is_recorded(x, t); k++)
		stage_call(s, v, OP_CUDA_LAUNCH, 0, t + k * 100 * US, t + k * 100 * US + 10 * US)
			->stack = python_stack(s, "/srv/train.py", "forward", 10 + k);
	if (is_recorded(x, t))
		stage_call(s, v, OP_CUDA_STREAM_SYNC, 0, t + 500 * US, t + 3 * MS)->stack =
			python_stack(s, "/srv/train.py", "read_loss", 60);
	ev = stage_offcpu(s, v, 0, t + 3100 * US, t + 3100 * US + WAIT, 0, 0);
	ev->stack = python_stack(s, "/srv/train.py", "fetch", 31);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, worker.thread);
	ev = stage_offcpu(s, worker, 0, t + 3200 * US + WAIT, t + STEP + 3 * MS, 0, 1);
	stage_set(ev, COL_OBJECT_KIND, OBJECT_FD);
	/* It lasts until there is more to do. */
	stage_set(ev, COL_WAKER_KIND, WAKER_TASK);
	stage_set(ev, COL_WAKER, v.thread);
}

/* Of windows that begin in the midst of a step a little is not known. */
static bool is_nearly(uint64_t ns)
{
	return ns > STEPS * WAIT * 94 / 100 && ns <= STEPS * WAIT;
}

static void judge(struct stage *s, const struct shape *x)
{
	const struct finding *f = NULL;
	struct kinds_run p;

	analyze(s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		f = bytes_equal(p.list.v.v[i].kind, bytes_of("gpu-idle")) ? &p.list.v.v[i] : f;
		printf("# %s\n", p.list.v.v[i].summary.p);
	}
	ok(f != NULL, "%s: gpu-idle", x->name);
	ok(is_nearly(f ? f->lost_ns : 0), "%s: what is lost", x->name);
	ok(f && f->estimate == x->estimate, "%s: an estimate", x->name);
	for (size_t i = 0; f && i < f->without.n; i++) {
		const struct finding_without *w = &f->without.v[i];
		double steps = bytes_equal(w->what, bytes_of("step")) ? STEPS : 1,
		       least = steps * (double)(w->from_ns - w->high_ns),
		       most = steps * (double)(w->from_ns - w->low_ns);

		ok(least < (double)(STEPS * WAIT) && most > 0.95 * (double)(STEPS * WAIT),
		   "%s: %.2f to %.2f s less of a %.*s without it", x->name, least / 1e9, most / 1e9,
		   (int)w->what.n, w->what.p);
	}
	for (size_t i = 0; f && i < f->fixes.n; i++)
		ok(!f->fixes.v[i].gain_high_ns || is_nearly(f->fixes.v[i].gain_high_ns),
		   "%s: what is gained at most", x->name);
	chain_list_free(&p.list);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *x = &shapes[i];
		struct stage s = stage_new();
		struct actor v = stage_actor(&s, 100, 100, 1, "train"),
			     worker = stage_actor(&s, 200, 200, 1, "loader");

		for (int64_t t = x->first; t < LENGTH; t += x->every)
			pause(&s, t + x->window, t + x->every < LENGTH ? t + x->every : LENGTH);
		for (unsigned k = 0; k < STEPS; k++)
			step(&s, v, worker, x, k * STEP);
		judge(&s, x);
		stage_free(&s);
	}
	return tap_done();
}
