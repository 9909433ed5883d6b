/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, second by second, against what is given up and taken back, and how often. */
#include "lib/probe/budget.h"
#include "tests/tap.h"

#define OPS 6

struct load {
	struct probe_budget b;
	struct probe_budget_op op[OPS];
	unsigned changes;
};

/* One second in which the ops are called that often. Returns how many are recorded after it. */
static unsigned second(struct load *l, const uint64_t calls[OPS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < OPS; i++) {
		l->op[i].recorded = l->op[i].given_up ? 0 : calls[i] / l->b.sample;
		l->op[i].left_out = calls[i] - l->op[i].recorded;
	}
	probe_budget_decide(&l->b, l->op, OPS);
	for (unsigned i = 0; i < OPS; i++) {
		n += !l->op[i].given_up;
		l->changes += l->op[i].verdict != PROBE_BUDGET_STAYS;
	}
	return n;
}

/* 1 us a call, a tenth of it for one that is left out: 10000 calls a second are 1 %. */
static struct load begin(double share, unsigned sample)
{
	return (struct load){ .b = { .share = share,
				     .call_ns = 1000,
				     .skipped_ns = 100,
				     .seconds = 1,
				     .sample = sample } };
}

static const uint64_t idle[OPS] = { 0 }, much[OPS] = { 50000, 40000, 30000, 100, 10, 1 },
		      even[OPS] = { 9000, 9000, 9000, 9000, 9000, 9000 },
		      flood[OPS] = { 1000000, 1000000, 1000000, 1000000, 1000000, 1000000 };

int main(void)
{
	struct load l = begin(0.02, 1);
	unsigned before, most = 0, later = 0;

	is_int(second(&l, much), 3, "all that are too many are given up in one second");
	ok(l.op[0].given_up && l.op[1].given_up && l.op[2].given_up, "those with most calls");
	for (int i = 0; i < 1000; i++)
		second(&l, much);
	is_int(l.changes, 3, "and then nothing changes for as long as the load stays");

	before = l.changes;
	is_int(second(&l, idle), 3, "a quiet second is not enough to take them back");
	is_int(second(&l, idle), 6, "two are");
	is_int(l.changes, before + 3, "each once");

	l = begin(0.02, 1);
	second(&l, even);
	for (int i = 0; i < 1000; i++)
		second(&l, even);
	for (int i = 0; i < OPS; i++)
		most += l.op[i].given_up;
	is_int(l.changes, most, "ops with as many calls: those that are given up stay so");
	most = 0;

	l = begin(0.01, 1);
	is_int(second(&l, flood), 0, "a budget that even counting exceeds: all");
	for (int i = 0; i < 100; i++)
		second(&l, flood);
	is_int(l.changes, 6, "and none is tried again");

	l = begin(0.02, 1);
	for (int i = 0; i < 4000; i++) {
		/* Longer and longer quiet between bursts would do; this is the worst for its length. */
		second(&l, i % 8 < 4 ? much : idle);
		if (i >= 2000)
			later += l.op[0].verdict != PROBE_BUDGET_STAYS;
		most = l.op[0].hold_s > most ? l.op[0].hold_s : most;
	}
	ok(later <= 2000 / 8 / 4 && l.changes < 100,
	   "a load that comes and goes makes few changes (%u, %u of them late)", l.changes, later);
	ok(most > 2 && most <= 64, "since an op has to fit for longer each time, up to a minute");

	l = begin(0.02, 1);
	l.b.others = 0.05;
	is_int(second(&l, much), 0, "what others cost leaves no room");
	l.b.others = 0;
	second(&l, idle);
	is_int(second(&l, idle), 6, "until it does");

	l = begin(0.02, 10);
	/* 1.2 % for those that are recorded, 1.1 % for counting. */
	is_int(second(&l, much), 4, "one of ten: what counting the others costs is in it");
	l = begin(0.02, 1);
	l.b.call_ns = l.b.skipped_ns = 0;
	is_int(second(&l, flood), 6, "where nobody knows what a call costs nothing is given up");
	l.b.seconds = 0;
	is_int(second(&l, flood), 6, "nor when no time has passed");
	return tap_done();
}
