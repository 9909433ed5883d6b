/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that were not recorded because their probes were detached add no finding: with the calls of
 * some tiers left only in windows, and the recording saying so, an analysis finds nothing that it
 * does not find with all of them.
 */
#include "tests/tap.h"

#include "tests/laws/paused.h"

#define DURATION_NS 10000000000

static const struct windows all_windows[] = {
	{ "launches, 500 ms of 2 s", ONE(TIER_LAUNCHES), 2000000000, 500000000, INT64_MAX },
	{ "launches, 1 ms of 700 ms", ONE(TIER_LAUNCHES), 700000000, 1000000, INT64_MAX },
	{ "launches, then all", ONE(TIER_LAUNCHES), 2000000000, 300000000, 5000000000 },
	{ "launches and submits, 300 ms of 1 s", ONE(TIER_LAUNCHES) | ONE(TIER_SUBMITS), 1000000000,
	  300000000, INT64_MAX },
	{ "allocations, 1 s of 3 s", ONE(TIER_ALLOCATIONS), 3000000000, 1000000000, INT64_MAX },
	{ "waits, 1 s of 3 s", ONE(TIER_WAITS), 3000000000, 1000000000, INT64_MAX },
	{ "everything, 500 ms of 2 s", ALL, 2000000000, 500000000, INT64_MAX },
	{ "everything after 3 s", ALL, INT64_MAX / 4, 3000000000, INT64_MAX },
};

static bool finds(const struct verdict *v, const struct finding *of)
{
	for (size_t i = 0; i < v->list.v.n; i++)
		if (bytes_equal(v->list.v.v[i].kind, law_kind(of->kind)))
			return true;
	return false;
}

static void analyze_item(void *ctx, const struct stream_item *it)
{
	cause_item(ctx, it, NULL);
}

static void check(const struct law *l, const char *scenario, const struct windows *w, bool fold,
		  const struct verdict *whole)
{
	struct pauses p = { 0 };
	unsigned strange = 0;
	struct verdict v = { 0 };
	struct cause *c;
	size_t left;

	if (w)
		pauses_make(&p, w, event_start(&l->ev.v[0]), DURATION_NS);
	v.sink.record = verdict_told;
	c = cause_new(l->w, NULL, &v.sink);
	left = paused_play(l, &p, fold, analyze_item, c);
	cause_finish(c, NULL);
	cause_free(c);
	for (size_t i = 0; i < v.list.v.n; i++) {
		const struct finding *x = &v.list.v.v[i];

		if (finds(whole, x))
			continue;
		printf("# %.*s: %.*s\n", (int)x->kind.n, x->kind.p, (int)x->summary.n,
		       x->summary.p);
		strange++;
	}
	ok(strange == 0, "%s without %zu of %zu events (%s%s): nothing new is found", scenario,
	   left, l->ev.n, w ? w->name : "no pause", fold ? ", folded" : "");
	verdict_free(&v);
	vec_free(&p.v);
}

int main(void)
{
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);

	for (unsigned i = 0; i < n; i++) {
		struct sim_options o;
		struct verdict whole;
		struct law l;

		sim_scenario_options(s[i].name, &o);
		o.duration_ns = DURATION_NS;
		o.seed = 3 + i;
		law_open(&l, &o);
		law_analyze(&l, 0, &whole);
		check(&l, s[i].name, NULL, true, &whole);
		/* Every other window of one scenario, the others of the next. */
		for (unsigned k = 0; k < sizeof(all_windows) / sizeof(all_windows[0]); k++) {
			if (k % 2 == i % 2 || tap_all())
				check(&l, s[i].name, &all_windows[k], k % 2, &whole);
		}
		verdict_free(&whole);
		law_close(&l);
	}
	return tap_done();
}
