/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, look by look, against what a budget lets them cost, which tiers it pauses, and how often. */
#include "lib/record/budget.h"

#include <string.h>

#include "tests/tap.h"

#define MS 1000000ll

struct load {
	struct record_budget b;
	int64_t now;
	double spent_ns;
	int64_t attached_ns[TIERS];
	unsigned changes;
	bool paused[TIERS];
};

static struct load begin(double share)
{
	struct load l = { .now = 0 };

	record_budget_start(&l.b, share, 0);
	return l;
}

/* So many ms in which probes of the tiers would cost those shares of the time, looked at every so
 * many. */
static void run_by(struct load *l, int step, int ms, const double rate[TIERS], double others)
{
	for (int i = 0; i < ms; i += step) {
		double cost[TIERS];
		bool before[TIERS];

		l->now += step * MS;
		l->spent_ns += others * step * MS;
		for (unsigned t = 0; t < TIERS; t++) {
			cost[t] = l->paused[t] ? 0 : rate[t] * step * MS;
			l->spent_ns += cost[t];
			l->attached_ns[t] += l->paused[t] ? 0 : step * MS;
		}
		memcpy(before, l->paused, sizeof(before));
		record_budget_look(&l->b, l->now, cost, others, l->paused);
		l->changes += memcmp(before, l->paused, sizeof(before)) != 0;
	}
}

static void run(struct load *l, int ms, const double rate[TIERS], double others)
{
	run_by(l, 10, ms, rate, others);
}

static const double
	calm[TIERS] = { [TIER_LAUNCHES] = 0.004, [TIER_WAITS] = 0.001 },
	eager[TIERS] = { [TIER_LAUNCHES] = 0.3, [TIER_SUBMITS] = 0.004, [TIER_WAITS] = 0.001 },
	flood[TIERS] = { [TIER_LAUNCHES] = 1.4 },
	copies[TIERS] = { [TIER_LAUNCHES] = 0.01, [TIER_SUBMITS] = 0.5 },
	waits[TIERS] = { [TIER_WAITS] = 0.9, [TIER_KEPT] = 0.0001 },
	near[TIERS] = { [TIER_LAUNCHES] = 0.024 },
	end[TIERS] = { [TIER_LAUNCHES] = 1, [TIER_WAITS] = 0.05 }, none[TIERS] = { 0 };

static void check_budgets(void)
{
	static const struct {
		const char *name;
		const double *rate;
		double others;
	} loads[] = {
		{ "eager", eager, 0.001 }, { "flood", flood, 0 },    { "copies", copies, 0.002 },
		{ "waits", waits, 0 },	   { "near", near, 0.0001 },
	};
	static const double shares[] = { 0.01, 0.02, 0.05, 0.1 };

	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++)
		for (size_t k = 0; k < sizeof(shares) / sizeof(*shares); k++) {
			struct load l = begin(shares[k]);
			double all = loads[i].others, first, share;

			for (unsigned t = 0; t < TIERS; t++)
				all += loads[i].rate[t];
			run(&l, 20000, loads[i].rate, loads[i].others);
			first = l.spent_ns;
			run(&l, 200000, loads[i].rate, loads[i].others);
			share = (l.spent_ns - first) / (200000.0 * MS);
			all = all < shares[k] ? all : shares[k];
			ok(share > all * 0.8 && share < all * 1.2,
			   "%s: %.4f of the time is spent of %.2f", loads[i].name, share,
			   shares[k]);
			ok(first / (20000.0 * MS) < shares[k] * 1.25,
			   "%s: and in its first 20 s no more than a quarter above (%.4f)",
			   loads[i].name, first / (20000.0 * MS));
			ok(l.changes < 220, "%s: in windows, not back and forth (%u)",
			   loads[i].name, l.changes);
		}
}

static void check_text(void)
{
	uint64_t paused[TIERS] = { 0 };
	struct buf text = { 0 };

	ok(!record_budget_text(&text, paused, 1e9, 0.02) && text.n == 0,
	   "nothing is said where nothing was paused");
	paused[TIER_LAUNCHES] = 640000000;
	paused[TIER_QUERIES] = 507000000;
	paused[TIER_SUBMITS] = 624000000;
	ok(record_budget_text(&text, paused, 1e9, 0.02), "three tiers");
	is_str(buf_text(&text),
	       "launches were recorded 36.0% of the time, queries 49.3%, submits 37.6%, to stay "
	       "within 2.0% (--budget): their counts in reports are estimates (~)",
	       "are one line");
	buf_free(&text);
}

/* A model is made, with all kinds of calls, and then trained: launches alone are too many, and the
 * others are recorded again soon. */
static void check_burst(void)
{
	static const double burst[TIERS] = {
		[TIER_LAUNCHES] = 0.5, [TIER_SUBMITS] = 0.3, [TIER_ALLOCATIONS] = 0.3, [TIER_WAITS] = 0.4
	};
	struct load l = begin(0.02);

	run(&l, 500, burst, 0.001);
	ok(l.paused[TIER_WAITS] && l.paused[TIER_SUBMITS] && l.paused[TIER_ALLOCATIONS],
	   "a burst: all of it is paused");
	memset(l.attached_ns, 0, sizeof(l.attached_ns));
	run(&l, 2000, eager, 0.001);
	ok(l.attached_ns[TIER_WAITS] > 1500 * MS && l.attached_ns[TIER_SUBMITS] > 1300 * MS,
	   "behind it waits (%lld ms of 2 s) and copies (%lld ms) are recorded again",
	   (long long)(l.attached_ns[TIER_WAITS] / MS),
	   (long long)(l.attached_ns[TIER_SUBMITS] / MS));
	ok(l.attached_ns[TIER_LAUNCHES] < 500 * MS, "and launches are not");
	l = begin(0.02);
	run(&l, 20000, burst, 0.001);
	ok(l.spent_ns / (20000.0 * MS) < 0.02 * 1.25, "a burst that goes on stays paid: %.4f",
	   l.spent_ns / (20000.0 * MS));
}

int main(void)
{
	struct load l = begin(0.02);
	unsigned changes;
	int64_t attached;

	check_budgets();
	check_text();

	run(&l, 60000, calm, 0.001);
	is_int(l.changes, 0, "what is within the budget is recorded all the time");

	l = begin(0.02);
	run(&l, 60000, eager, 0.001);
	ok(l.attached_ns[TIER_WAITS] == 60000 * MS && l.attached_ns[TIER_SUBMITS] == 60000 * MS,
	   "of too many launches launches alone are paused");
	ok(l.attached_ns[TIER_LAUNCHES] > 1000 * MS && l.attached_ns[TIER_LAUNCHES] < 6000 * MS,
	   "and are attached in windows: %lld ms of 60 s",
	   (long long)(l.attached_ns[TIER_LAUNCHES] / MS));

	check_burst();

	attached = l.attached_ns[TIER_LAUNCHES];
	run(&l, 5000, calm, 0.001);
	changes = l.changes;
	attached = l.attached_ns[TIER_LAUNCHES];
	run(&l, 10000, calm, 0.001);
	ok(l.changes == changes && l.attached_ns[TIER_LAUNCHES] - attached == 10000 * MS,
	   "five seconds after the load has fallen all are recorded again, for good");

	l = begin(0.02);
	run(&l, 60000, none, 0);
	attached = l.attached_ns[TIER_LAUNCHES];
	run(&l, 2000, flood, 0);
	ok(l.attached_ns[TIER_LAUNCHES] - attached <= 100 * MS,
	   "a load that jumps to 700,000 calls a second is paused within %lld ms",
	   (long long)((l.attached_ns[TIER_LAUNCHES] - attached) / MS));
	run(&l, 20000, none, 0);
	ok(!l.paused[TIER_LAUNCHES], "and attached again when it is over");

	l = begin(0.02);
	for (int i = 0; i < 100;
	     i++) { /* threads that end launches with waits, one behind the other */
		run_by(&l, 1, 9, flood, 0);
		run_by(&l, 1, 1, end, 0);
	}
	ok(l.attached_ns[TIER_WAITS] == 1000 * MS && l.attached_ns[TIER_LAUNCHES] < 200 * MS,
	   "of a burst of launches between waits launches alone are paused");

	l = begin(0.02);
	run(&l, 60000, copies, 0);
	ok(l.attached_ns[TIER_ALLOCATIONS] == 60000 * MS &&
		   l.attached_ns[TIER_KEPT] == 60000 * MS &&
		   l.attached_ns[TIER_SUBMITS] < 6000 * MS,
	   "copies that are too many are paused, too, and no more than it takes");

	l = begin(0.02);
	run(&l, 60000, eager, 0.05);
	/* A fifth of the budget, less the waits, which stay: 0.3 % of the time, of 30 % that
	 * launches cost. */
	ok(l.attached_ns[TIER_LAUNCHES] >= 500 * MS,
	   "where all else takes more than the budget there are windows all the same: %lld ms",
	   (long long)(l.attached_ns[TIER_LAUNCHES] / MS));
	return tap_done();
}
