/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads wait for is the same whether or not their launches were recorded: with all launches
 * left out, and the recording saying so, the same waits are told with the same culprits and the
 * same time, to the nanosecond.
 */
#include "tests/tap.h"

#include <inttypes.h>

#include "lib/base/json.h"
#include "tests/laws/paused.h"
#include "tests/unit/events.h"

#define DURATION_NS INT64_C(8000000000)

/* Findings that grow from waits alone. */
static const char *const kinds[] = { "cpu-preempted", "cpu-contended", "cpu-throttled", "lock-wait",
				     "disk-stall" };

static bool is_of_waits(const struct finding *c)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (bytes_equal(c->kind, bytes_of(kinds[i])))
			return true;
	return false;
}

static const struct finding *same(const struct verdict *v, const struct finding *of)
{
	for (size_t i = 0; i < v->list.v.n; i++)
		if (bytes_equal(v->list.v.v[i].id, of->id))
			return &v->list.v.v[i];
	return NULL;
}

/* Whether each finding of waits is in the other verdict, with the same time, number of waits and
 * culprit. */
static unsigned differences(const struct verdict *a, const struct verdict *b)
{
	unsigned n = 0;

	for (size_t i = 0; i < a->list.v.n; i++) {
		const struct finding *x = &a->list.v.v[i], *y;

		if (!is_of_waits(x))
			continue;
		y = same(b, x);
		/* A wait that is partly in a call, and a call that is not there, may be two. */
		if (y && y->lost_ns == x->lost_ns &&
		    llabs((int64_t)(y->count - x->count)) <= (int64_t)x->count / 100 &&
		    bytes_equal(x->culprit.text, y->culprit.text))
			continue;
		printf("# %.*s\n# other: %.*s\n", (int)x->summary.n, x->summary.p,
		       y ? (int)y->summary.n : 6, y ? y->summary.p : "nobody");
		n++;
	}
	return n;
}

/* Of steps all of a wait is measured, where few gaps show it. */
static const struct finding *same_or_stall(const struct verdict *v, const struct finding *of)
{
	const struct finding *found = same(v, of);

	for (size_t i = 0; i < v->list.v.n && !found; i++)
		if (bytes_equal(law_kind(v->list.v.v[i].kind), of->kind) &&
		    bytes_equal(v->list.v.v[i].culprit.text, of->culprit.text))
			found = &v->list.v.v[i];
	return found;
}

/* Gaps of the device are known where launches are: with these left out for a part of the time, an
 * estimate that says so. */
static void check_idle(const struct verdict *whole, const struct verdict *part, const char *name)
{
	for (size_t i = 0; i < whole->list.v.n; i++) {
		const struct finding *x = &whole->list.v.v[i], *y;

		if (!bytes_equal(x->kind, bytes_of("gpu-idle")))
			continue;
		y = same_or_stall(part, x);
		if (!ok(y != NULL, "%s: the device idles in windows, too", name))
			continue;
		is_near((double)y->lost_ns, (double)x->lost_ns, 0.05 * (double)x->lost_ns,
			"%s: as long as all the time", name);
		ok((y->estimate || strstr(y->summary.p, " waited ")) &&
			   bytes_equal(x->culprit.text, y->culprit.text),
		   "%s: an estimate, for the same reason", name);
	}
}

static void analyze_item(void *ctx, const struct stream_item *it)
{
	cause_item(ctx, it, NULL);
}

static size_t verdict_of(const struct law *l, const struct windows *w, struct verdict *v)
{
	struct pauses p = { 0 };
	struct cause *c;
	size_t left;

	memset(v, 0, sizeof(*v));
	if (w)
		pauses_make(&p, w, event_start(&l->ev.v[0]), DURATION_NS);
	v->sink.record = verdict_told;
	c = cause_new(l->w, NULL, &v->sink);
	left = paused_play(l, &p, false, analyze_item, c);
	cause_finish(c, NULL);
	cause_free(c);
	vec_free(&p.v);
	return left;
}

#define IN_WINDOWS 1

static const struct windows paused[] = {
	{ "no launches", ONE(TIER_LAUNCHES), INT64_MAX / 4, 0, INT64_MAX },
	[IN_WINDOWS] = { "launches, 300 ms of 1 s", ONE(TIER_LAUNCHES), 1000000000, 300000000,
			 INT64_MAX },
	{ "launches and queries, 10 ms of 700 ms", ONE(TIER_LAUNCHES) | ONE(TIER_QUERIES),
	  700000000, 10000000, INT64_MAX },
};

static void check(const struct law *l, const char *name)
{
	struct verdict whole, without;

	verdict_of(l, NULL, &whole);
	for (size_t k = 0; k < sizeof(paused) / sizeof(paused[0]); k++) {
		size_t left = verdict_of(l, &paused[k], &without);
		unsigned n = differences(&whole, &without) + differences(&without, &whole);

		ok(n == 0, "%s, %s (%zu of %zu events left out): the same waits", name,
		   paused[k].name, left, l->ev.n);
		if (k == IN_WINDOWS)
			check_idle(&whole, &without, name);
		verdict_free(&without);
	}
	verdict_free(&whole);
}

/* What a made stream holds, ns. */
struct planted {
	uint64_t gil, mutex, disk;
};

static struct event *wait_for(struct stage *s, struct actor v, uint64_t object, int64_t start,
			      int64_t end)
{
	struct event *ev = stage_offcpu(s, v, 0, start, end, 0, 0);

	stage_set(ev, COL_OBJECT_KIND, object);
	stage_set(ev, COL_OBJECT, 8 << 20 | 16);
	return ev;
}

/* by NULL: the clock ended it. */
static void wait_gil(struct stage *s, struct actor a, int64_t start, int64_t end,
		     const struct actor *by)
{
	struct event *ev = stage_lock(s, a, 0, start, end, end, by ? *by : a, 0x7000);

	stage_set(ev, COL_OBJECT_KIND, OBJECT_GIL);
	stage_set(ev, COL_FUTEX_OP, 9);
	if (by)
		return;
	stage_set(ev, COL_WAKER_KIND, WAKER_TIMER);
	ev->present &= ~(1u << op_column(op_builtin(ev->op), COL_WAKER));
}

/* One wait behind a launch, each of another kind; returns when it is over. Five ms for the
 * interpreter end by the clock, and then the holder gives way, or is waited for again. */
static int64_t plant_wait(struct stage *s, struct actor v, struct actor h, unsigned kind, int64_t t,
			  struct planted *p)
{
	switch (kind) {
	case 0:
		stage_lock(s, v, 0, t, t + 8 * MS, t + 8 * MS, h, 0x1000);
		p->mutex += 8 * MS;
		return t + 8 * MS;
	case 1:
		wait_for(s, v, OBJECT_DISK, t, t + 3 * MS);
		p->disk += 3 * MS;
		return t + 3 * MS;
	case 2:
		wait_for(s, v, OBJECT_SOCKET, t, t + MS);
		return t + MS;
	case 3:
		wait_for(s, v, OBJECT_TIMER, t, t + MS);
		return t + MS;
	case 4:
		wait_gil(s, v, t, t + 5 * MS, NULL);
		/* The one that gave way says so after the other went on. */
		wait_gil(s, h, t + 5 * MS + 20 * US, t + 6 * MS, &v);
		p->gil += 5 * MS;
		return t + 7 * MS;
	case 5:
		wait_gil(s, v, t, t + 5 * MS, NULL);
		wait_gil(s, v, t + 5 * MS + 30 * US, t + 6 * MS, &h);
		p->gil += 6 * MS - 30 * US;
		return t + 6 * MS;
	default:
		wait_gil(s, v, t, t + MS, &h);
		p->gil += MS;
		return t + MS;
	}
}

static void make(struct stage *s, struct planted *p)
{
	struct actor v = stage_actor(s, 100, 100, 1, "train"),
		     h = stage_actor(s, 100, 101, 1, "augment");
	uint64_t random = 99;
	int64_t t = MS;

	while (t < DURATION_NS) {
		for (unsigned i = 0; i < 4; i++) {
			stage_call(s, v, OP_CU_LAUNCH, 1, t + 2 * US, t + 8 * US);
			stage_call(s, v, OP_CUDA_LAUNCH, 0, t, t + 10 * US);
			t += 15 * US;
			random = random * 6364136223846793005u + 1442695040888963407u;
			if (i % 2)
				t = plant_wait(s, v, h, random >> 33 & 7, t, p) + 15 * US;
		}
		stage_call(s, v, OP_CUDA_STREAM_SYNC, 0, t, t + MS);
		t += MS + 200 * US;
	}
	/* The last one says whose the one before was. */
	wait_gil(s, v, t, t + MS, &h);
	p->gil += MS;
	stage_call(s, v, OP_CUDA_STREAM_SYNC, 0, t + MS, t + 2 * MS);
	stage_sort(s);
}

static uint64_t lost_to(const struct verdict *v, const char *kind, const char *in_summary)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < v->list.v.n; i++)
		if (bytes_equal(v->list.v.v[i].kind, bytes_of(kind)) &&
		    strstr(v->list.v.v[i].summary.p, in_summary))
			ns += v->list.v.v[i].lost_ns;
	return ns;
}

/* Waits between two calls of which one or both are left out. */
static void check_made(void)
{
	struct stage s = stage_new();
	struct planted p = { 0 };
	struct law l = { .w = s.w };

	make(&s, &p);
	for (size_t i = 0; i < s.ev.n; i++)
		if (!vec_push(&l.ev, s.ev.v[i]))
			abort();
	check(&l, "waits between calls");
	for (size_t k = 0; k < sizeof(paused) / sizeof(paused[0]); k++) {
		struct verdict v;

		verdict_of(&l, &paused[k], &v);
		is_u64(lost_to(&v, "lock-wait", "(GIL)"), p.gil, "%s: for the interpreter",
		       paused[k].name);
		is_u64(lost_to(&v, "lock-wait", "lock") - p.gil, p.mutex, "%s: for a mutex",
		       paused[k].name);
		is_u64(lost_to(&v, "disk-stall", ""), p.disk, "%s: for a disk", paused[k].name);
		verdict_free(&v);
	}
	vec_free(&s.ev);
	vec_free(&s.rec);
	law_close(&l);
}

int main(void)
{
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);

	check_made();
	for (unsigned i = 0; i < n; i++) {
		struct sim_options o;
		struct law l;

		sim_scenario_options(s[i].name, &o);
		o.duration_ns = DURATION_NS;
		o.seed = 11 + i;
		law_open(&l, &o);
		check(&l, s[i].name);
		law_close(&l);
	}
	return tap_done();
}
