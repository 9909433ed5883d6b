/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lost time where calls were recorded for a part of the time: what was measured before probes were
 * detached first counts once, what was measured later stands for the time that was not covered.
 */
#include "tests/tap.h"

#include "lib/account/found.h"
#include "lib/account/analysis_state.h"

#define LAUNCHES (1u << TIER_LAUNCHES)
#define WAITS	 (1u << TIER_WAITS)

struct found_loss {
	int64_t end_ns;
	uint64_t ns;
};

/* Of a recording of 100 units. */
static const struct row {
	const char *name;
	struct {
		int64_t since, until;
		enum op_tier tier;
	} paused[3];
	unsigned tiers;
	struct found_loss lost[5];
	struct cause_estimate is;
	uint64_t whole_ns, whole_count;
} rows[] = {
	{ "nothing was paused",
	  { { 0 } },
	  LAUNCHES,
	  { { 10, 7 }, { 90, 7 } },
	  { false, false, 1, 1, 1 },
	  14,
	  2 },
	{ "another tier was paused",
	  { { 20, 80, TIER_QUERIES } },
	  LAUNCHES,
	  { { 10, 7 } },
	  { false, false, 1, 1, 1 },
	  7,
	  1 },
	{ "all of it before the first pause",
	  { { 20, 60, TIER_LAUNCHES } },
	  LAUNCHES,
	  { { 10, 7 }, { 20, 3 } },
	  { true, false, 1, 1, 0.6 },
	  10,
	  2 },
	{ "all of it after",
	  { { 20, 60, TIER_LAUNCHES } },
	  LAUNCHES,
	  { { 70, 6 } },
	  { true, false, 2, 2, 0.6 },
	  12,
	  2 },
	{ "before and after",
	  { { 20, 60, TIER_LAUNCHES } },
	  LAUNCHES,
	  { { 10, 10 }, { 70, 6 } },
	  { true, false, 22.0 / 16, 3.0 / 2, 0.6 },
	  22,
	  3 },
	{ "the first of two tiers",
	  { { 50, 60, TIER_WAITS }, { 20, 60, TIER_LAUNCHES } },
	  LAUNCHES | WAITS,
	  { { 15, 10 }, { 95, 6 } },
	  { true, false, 22.0 / 16, 3.0 / 2, 0.6 },
	  22,
	  3 },
	{ "nothing recorded since",
	  { { 20, 100, TIER_LAUNCHES } },
	  LAUNCHES,
	  { { 10, 7 } },
	  { true, true, 1, 1, 0.2 },
	  7,
	  1 },
	{ "next to nothing since",
	  { { 20, 98, TIER_LAUNCHES } },
	  LAUNCHES,
	  { { 10, 7 }, { 99, 2 } },
	  { true, true, 1, 1, 0.22 },
	  9,
	  2 },
	{ "little since, but often",
	  { { 20, 98, TIER_LAUNCHES } },
	  LAUNCHES,
	  { { 99, 1 }, { 99, 1 }, { 99, 1 }, { 100, 1 }, { 100, 1 } },
	  { true, false, 40, 40, 0.22 },
	  200,
	  200 },
	{ "measured all of the time",
	  { { 20, 60, TIER_LAUNCHES } },
	  0,
	  { { 70, 6 } },
	  { false, false, 1, 1, 1 },
	  6,
	  1 },
};

static void pause(struct cause *c, int64_t since, int64_t until, enum op_tier tier)
{
	struct record r = { .kind = RECORD_PAUSED };

	REC_SET(&r, PAUSED, since_ns, since);
	REC_SET(&r, PAUSED, until_ns, until);
	REC_SET(&r, PAUSED, tier, tier);
	if (!paused_record(&c->paused, &r))
		abort();
}

static bool is_close(double a, double b)
{
	return a - b < 1e-9 && b - a < 1e-9;
}

static void check(const struct row *x)
{
	struct cause c = { .has_start = true, .settled_ns = 100, .w = world_new() };
	struct cause_found f = { 0 };
	struct cause_estimate e;
	uint64_t ns = 0, count = 0;

	for (unsigned i = 0; i < 3 && x->paused[i].until; i++)
		pause(&c, x->paused[i].since, x->paused[i].until, x->paused[i].tier);
	for (unsigned i = 0; i < 5 && x->lost[i].ns; i++) {
		cause_found_add(&f, &c, 0, x->tiers, x->lost[i].end_ns, x->lost[i].ns);
		ns += x->lost[i].ns;
		count++;
	}
	e = cause_found_estimate(&f, &c, ns, count);
	ok(e.is == x->is.is && e.least == x->is.least && is_close(e.covered, x->is.covered),
	   "%s: an estimate, a lower bound or all", x->name);
	ok(is_close(e.ns_factor, x->is.ns_factor) && is_close(e.count_factor, x->is.count_factor),
	   "%s: factors", x->name);
	ok((uint64_t)((double)ns * e.ns_factor + 0.5) == x->whole_ns &&
		   (uint64_t)((double)count * e.count_factor + 0.5) == x->whole_count,
	   "%s: what there was in all", x->name);
	paused_free(&c.paused);
	world_free(c.w);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
	return done_testing();
}
