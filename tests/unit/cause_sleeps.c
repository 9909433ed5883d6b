/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How grave it is that a program sleeps while its device has nothing to do: by what its sleeps are.
 * The same time is lost in all of these streams.
 */
#include "lib/stat/pace.h"
#include "tests/unit/kinds.h"

#define LENGTH (5000 * MS)
#define TICK   (20 * MS)
#define STEPS  (LENGTH / TICK)

static struct stage s;
static struct actor v, other;

/* Work of a step: 4 ms, a little more or less each time. */
static int64_t work_ns(unsigned step)
{
	return 4 * MS + (int64_t)(step * 7919 % 101) * 10 * US;
}

/* Launches, and waits for them: until when. */
static int64_t work(int64_t t, unsigned step)
{
	stage_set(stage_call(&s, v, OP_CUDA_LAUNCH, 0, t, t + 5 * US), COL_STREAM, 7);
	stage_set(stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 10 * US, t + work_ns(step)),
		  COL_STREAM, 7);
	return t + work_ns(step);
}

/* What it waits for until its time runs out; a sleep waits for nothing else. */
static unsigned object = OBJECT_TIMER;

static void asleep(struct actor a, int64_t t, int64_t until)
{
	struct event *ev = stage_offcpu(&s, a, 0, t, until, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, object);
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
	if (object == OBJECT_FUTEX)
		stage_set(ev, COL_FUTEX_OP, 9); /* a condition */
}

/* ---- how long each sleeps that begins at t; the step began at step_ns ---- */

static int64_t until_tick(int64_t t, int64_t step_ns, unsigned step)
{
	(void)t;
	(void)step;
	return step_ns + TICK;
}

/* The same with a time that is rounded up to milliseconds. */
static int64_t until_rounded(int64_t t, int64_t step_ns, unsigned step)
{
	(void)step_ns;
	(void)step;
	return t + ((t / TICK + 1) * TICK - t + MS - 1) / MS * MS + 60 * US;
}

static int64_t fixed(int64_t t, int64_t step_ns, unsigned step)
{
	(void)step_ns;
	(void)step;
	return t + 15500 * US;
}

static int64_t any(int64_t t, int64_t step_ns, unsigned step)
{
	(void)step_ns;
	return t + 8 * MS + (int64_t)(step * 7127 % 151) * 100 * US;
}

struct wanted {
	unsigned n; /* findings of gpu-idle */
	enum finding_severity severity;
	const char *text, *not ; /* of the gravest; NULL: nothing */
	bool gain;		 /* what would be without it is told */
	double least;		 /* share that remains of each at least; 0: any */
};

static void judge(const char *name, const struct wanted *w)
{
	struct kinds_run p;
	const struct finding *worst = NULL;
	unsigned n = 0;

	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		const struct finding *f = &p.list.v.v[i];

		n += bytes_equal(f->kind, bytes_of("gpu-idle"));
		worst = !worst || f->severity > worst->severity ? f : worst;
	}
	is_u64(n, w->n, "%s: findings", name);
	is_u64(worst ? worst->severity : 0, w->severity, "%s: how grave", name);
	like(worst ? worst->summary.p : "", w->text, "%s: what it is", name);
	ok(!worst || !w->not || !strstr(worst->summary.p, w->not ), "%s: not \"%s\"", name,
	   w->not ? w->not : "");
	is_u64(worst && worst->without.n > 0, w->gain, "%s: whether it says what is gained", name);
	for (size_t i = 0; worst && w->least > 0 && i < worst->without.n; i++) {
		const struct finding_without *f = &worst->without.v[i];

		ok((double)f->low_ns >= w->least * (double)f->from_ns, "%s: %.2f of a %.*s remains",
		   name, (double)f->low_ns / (double)f->from_ns, (int)f->what.n, f->what.p);
	}
	chain_list_free(&p.list);
}

typedef int64_t sleep_fn(int64_t t, int64_t step_ns, unsigned step);

/* So many steps, each with a sleep; the rest of the time it works. */
static void own(const char *name, sleep_fn *sleep, unsigned sleeps, struct wanted w)
{
	int64_t t = 0;

	for (unsigned i = 0; t < LENGTH; i++) {
		int64_t begin = t;

		t = work(t, i);
		if (i < sleeps) {
			asleep(v, t + 20 * US, sleep(t + 20 * US, begin, i));
			t = sleep(t + 20 * US, begin, i);
		}
	}
	judge(name, &w);
}

/* Another thread sleeps, and wakes the one that works. */
static void beside(const char *name, sleep_fn *sleep, struct wanted w)
{
	int64_t t = 0;

	for (unsigned i = 0; t < LENGTH; i++) {
		int64_t begin = t, work_end = work(t, i),
			from = t + 100 * US + (work_ns(i) - 4 * MS) / 2;
		struct event *wait;

		t = sleep(from, begin, i);
		asleep(other, from, t);
		wait = stage_offcpu(&s, v, 0, work_end + 20 * US, t + 30 * US, 0, 0);
		stage_set(wait, COL_OBJECT_KIND, OBJECT_FD);
		stage_set(wait, COL_WAKER_KIND, WAKER_TASK);
		stage_set(wait, COL_WAKER, other.thread);
		t += 40 * US;
	}
	judge(name, &w);
}

/* The step looks now and then whether something is there, which another process makes. looks: how
 * often, of step i. */
static void poll_steps(const char *name, unsigned (*looks)(unsigned), bool calls, struct wanted w)
{
	int64_t t = 0, from = 0;

	for (unsigned i = 0; t < LENGTH; i++) {
		t = work(t, i);
		for (unsigned k = 0; k < looks(i); k++) {
			if (calls)
				stage_call(&s, v, OP_CUDA_EVENT_QUERY, 0, t + 5 * US, t + 8 * US);
			asleep(v, t + 20 * US, t + 2 * MS + 20 * US);
			t += 2 * MS + 20 * US;
		}
		/* It is made meanwhile, on the CPU, and written for a while. */
		stage_set(stage_offcpu(&s, other, 0, from + 3 * MS, from + 4 * MS, 0, 0),
			  COL_OBJECT_KIND, OBJECT_DISK);
		from = t;
	}
	judge(name, &w);
}

static unsigned any_times(unsigned step)
{
	return 3 + step * 7919 % 5;
}

static unsigned three_times(unsigned step)
{
	(void)step;
	return 3;
}

int main(void)
{
	s = stage_new();
	v = stage_actor(&s, 100, 100, 0, "train");
	other = stage_actor(&s, 200, 200, 0, "loader");
	own("sleeps to the next tick", until_tick, UINT32_MAX,
	    (struct wanted){ 1, FINDING_LOW, "which keeps a pace", NULL, false });
	own("sleeps of one length", fixed, UINT32_MAX,
	    (struct wanted){ 1, FINDING_HIGH, "a sleep", "pace", true });
	own("sleeps of any length", any, UINT32_MAX,
	    (struct wanted){ 1, FINDING_MEDIUM, "a sleep", "pace", true });
	own("too few sleeps of one length", fixed, PACE_LEAST - 1,
	    (struct wanted){ 1, FINDING_MEDIUM, "a sleep", "pace", true });
	beside("another thread sleeps to the next tick", until_tick,
	       (struct wanted){ 1, FINDING_LOW, "to keep a pace", NULL, false });
	beside("another thread's sleeps of one length", fixed,
	       (struct wanted){ 1, FINDING_HIGH, "which slept", "pace", true });
	beside("another thread's sleeps of any length", any,
	       (struct wanted){ 1, FINDING_HIGH, "which slept", "pace", true });
	poll_steps("polls by sleeping", any_times, false,
		   (struct wanted){ 1, FINDING_HIGH,
				    "polling every 2.02 ms, about 5 times in a row, for what is "
				    "not known; meanwhile loader (pid 200) was busy or blocked",
				    "sleep", true, 0.8 });
	poll_steps("sleeps three times a step", three_times, false,
		   (struct wanted){ 1, FINDING_HIGH, "a sleep", "poll", true });
	poll_steps("asks the device between its sleeps", any_times, true,
		   (struct wanted){ 1, FINDING_HIGH, "a sleep", "poll", true });
	object = OBJECT_POLL;
	own("an event loop waits to its next tick", until_tick, UINT32_MAX,
	    (struct wanted){ 1, FINDING_LOW, "which keeps a pace", NULL, false });
	own("an event loop waits to it by milliseconds", until_rounded, UINT32_MAX,
	    (struct wanted){ 1, FINDING_LOW, "which keeps a pace", NULL, false });
	own("an event loop waits for somebody, so long each time", fixed, UINT32_MAX,
	    (struct wanted){ 1, FINDING_LOW, "time ran out", "pace", false });
	beside("the loop of another thread waits to its next tick", until_tick,
	       (struct wanted){ 1, FINDING_LOW, "to keep a pace", NULL, false });
	object = OBJECT_FUTEX;
	own("a timer waits on a condition to its next tick", until_tick, UINT32_MAX,
	    (struct wanted){ 1, FINDING_LOW, "which keeps a pace", NULL, false });
	stage_free(&s);
	return tap_done();
}
