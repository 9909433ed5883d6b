/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is refused device memory: whether it stopped because of that, got by with less, or
 * freed some and went on, and how long that took.
 */
#include "tests/tap.h"

#include <string.h>

#include "tests/unit/kinds.h"

#define MIB (1 << 20)

static struct event *ask(struct stage *s, struct actor a, int64_t at, uint64_t bytes, int ret)
{
	struct event *ev = stage_call(s, a, OP_CUDA_MALLOC, 0, at, at + 100 * US);

	stage_set(ev, COL_BYTES, bytes);
	if (!ret)
		stage_set(ev, COL_PTR, 0x100000 + (uint64_t)at);
	ev->ret = ret;
	return ev;
}

/* One launch each millisecond. */
static void run(struct stage *s, struct actor a, int64_t from, int64_t until)
{
	for (int64_t t = from; t < until; t += MS)
		stage_call(s, a, OP_CUDA_LAUNCH, 0, t, t + 5 * US);
}

static void leave(struct stage *s, struct actor a, int64_t at, int64_t status)
{
	struct event *ev = stage_event(s, OP_PROC_EXIT, a.ctx, 0, at, at);

	if (status >= 0)
		stage_set(ev, COL_STATUS, (uint64_t)status);
}

struct play {
	const char *what;
	uint64_t then; /* bytes that it asks for next, and gets; 0: none */
	int64_t goes_on_ns;
	int64_t status; /* of its end; < 0: not known */
	bool again;	/* it is refused again at the end */
	uint32_t severity;
	bool stops;
};

/* It works for a second, is refused 400 MiB, and ends. Another program goes on. */
static void play(const struct play *p)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train"),
		     other = stage_actor(&s, 200, 200, 1, "serve");
	int64_t t = 1000 * MS;
	const struct finding *k = NULL;
	struct kinds_run r;

	run(&s, other, 0, 10000 * MS);
	ask(&s, a, 0, 700ull * MIB, 0);
	run(&s, a, MS, t);
	ask(&s, a, t, 400ull * MIB, 2);
	if (p->then)
		ask(&s, a, t + MS, p->then, 0);
	run(&s, a, t + 2 * MS, t + 2 * MS + p->goes_on_ns);
	t += 3 * MS + p->goes_on_ns;
	if (p->again)
		ask(&s, a, t, 400ull * MIB, 2);
	leave(&s, a, t + 20 * MS, p->status);
	analyze(&s, &r);
	for (size_t i = 0; i < r.list.v.n; i++)
		if (bytes_equal(r.list.v.v[i].kind, bytes_of("gpu-oom")))
			k = &r.list.v.v[i];
	ok(k && k->severity == p->severity, "%s: %u", p->what, k ? k->severity : 0);
	ok(k && !strstr(k->summary.p, "then it stopped") == !p->stops, "%s: %s", p->what,
	   p->stops ? "stopped" : "did not stop");
	if (k)
		printf("# %s\n", k->summary.p);
	chain_list_free(&r.list);
	stage_free(&s);
}

/* A hundred times what it has cached is freed, which takes 10 of 40 ms. works: it does something
 * else meanwhile, so that the second request is another one. */
static void retries(bool works)
{
	struct stage s = stage_new();
	struct actor a = stage_actor(&s, 100, 100, 1, "train");
	const struct finding *k = NULL;
	struct kinds_run r;

	ask(&s, a, 0, 700ull * MIB, 0);
	for (int64_t i = 1; i <= 100; i++) {
		int64_t t = 40 * i * MS;

		run(&s, a, t, t + 20 * MS);
		ask(&s, a, t + 20 * MS, 400ull * MIB, 2);
		if (works)
			run(&s, a, t + 22 * MS, t + 24 * MS);
		stage_set(stage_call(&s, a, OP_CUDA_FREE, 0, t + 25 * MS, t + 29 * MS), COL_PTR,
			  0x100000 + (uint64_t)(i > 1 ? t - 10 * MS - 100 * US : 0));
		ask(&s, a, t + 30 * MS - 100 * US, 400ull * MIB, 0);
	}
	leave(&s, a, 4050 * MS, 0);
	analyze(&s, &r);
	for (size_t i = 0; i < r.list.v.n; i++)
		if (bytes_equal(r.list.v.v[i].kind, bytes_of("gpu-oom")))
			k = &r.list.v.v[i];
	ok(k && k->severity == (works ? FINDING_LOW : FINDING_HIGH), "by its share of the time");
	if (k && works)
		is_u64(k->lost_ns, 0,
		       "no time is lost by requests that have nothing to do with each other");
	if (k && !works) {
		is_u64(k->lost_ns, 1000 * MS, "from the refusals to what was got");
		like(k->summary.p, "asked again until it got it, for 1.00 s (24.7% of wall time, ",
		     "and said so");
		ok(!strstr(k->summary.p, "then it stopped"), "it did not stop");
	}
	chain_list_free(&r.list);
	stage_free(&s);
}

int main(void)
{
	static const struct play plays[] = {
		{ "gets as much, ends 0.2 s later", 400ull * MIB, 200 * MS, 0, false, FINDING_LOW,
		  false },
		{ "gets as much, ends 20 ms later", 400ull * MIB, 0, -1, false, FINDING_LOW,
		  false },
		{ "gets by with less", 200ull * MIB, 200 * MS, 0, false, FINDING_LOW, false },
		{ "goes on without", 0, 200 * MS, 0, false, FINDING_MEDIUM, false },
		{ "goes on for 0.2 s, and fails", 0, 200 * MS, 1 << 8, false, FINDING_HIGH, true },
		{ "does nothing more, and fails", 0, 0, 1 << 8, false, FINDING_HIGH, true },
		{ "does nothing more, and ends well", 0, 0, 0, false, FINDING_HIGH, true },
		{ "gets by with less, and is refused again", 200ull * MIB, 200 * MS, 1 << 8, true,
		  FINDING_HIGH, true },
	};

	for (size_t i = 0; i < sizeof(plays) / sizeof(plays[0]); i++)
		play(&plays[i]);
	retries(false);
	retries(true);
	return done_testing();
}
