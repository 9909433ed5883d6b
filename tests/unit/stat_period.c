/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests of distances and levels: sure where it is plain, never sure of numbers drawn at random.
 */
#include "tests/tap.h"

#include <math.h>

#include "lib/stat/period.h"

#define DRAWS 2000

static uint64_t state = 42;

/* Uniform in (0, 1). */
static double draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static void periods(void)
{
	double gaps[64], period;
	unsigned sure = 0;

	for (unsigned i = 0; i < 12; i++)
		gaps[i] = 100;
	ok(period_chance(gaps, 12, &period) < 1e-4, "twelve equal distances are no chance");
	is_near(period, 100, 0, "their period");
	for (unsigned i = 0; i < 64; i++)
		gaps[i] = 100 + 10 * (draw() - 0.5);
	ok(period_chance(gaps, 64, &period) < 1e-9, "nor are nearly equal ones");
	is_near(period, 100, 3, "their period");
	for (unsigned i = 0; i < 20; i++)
		gaps[i] = i % 5 ? 100 : 200;
	ok(period_chance(gaps, 20, &period) < 1e-4, "nor where one is missing now and then");
	for (unsigned k = 0; k < DRAWS; k++) {
		for (unsigned i = 0; i < 20; i++)
			gaps[i] = -100 * log(draw());
		sure += period_chance(gaps, 20, &period) < 1e-4;
	}
	ok(sure <= 2, "of 2000 times at random few look periodic: %u", sure);
	ok(period_chance(gaps, 2, &period) == 1, "two distances say nothing");
	gaps[0] = gaps[1] = gaps[2] = 0;
	ok(period_chance(gaps, 3, &period) == 1, "no distance at all is no period");
}

static void changes(void)
{
	double x[64];
	unsigned sure = 0;
	size_t at;

	for (unsigned i = 0; i < 40; i++)
		x[i] = (i < 25 ? 100 : 80) + 4 * draw();
	ok(change_chance(x, 40, &at) < 1e-4, "a fall by a fifth is no chance");
	is_u64(at, 25, "and where it is");
	for (unsigned i = 0; i < 40; i++)
		x[i] = i == 20 ? 0 : 100 + 4 * draw();
	ok(change_chance(x, 40, &at) > 0.01, "one value that is off is no change of level");
	for (unsigned k = 0; k < DRAWS; k++) {
		for (unsigned i = 0; i < 40; i++)
			x[i] = draw();
		sure += change_chance(x, 40, &at) < 1e-3;
	}
	ok(sure <= 4, "of 2000 series at random few look changed: %u", sure);
	for (unsigned i = 0; i < 40; i++)
		x[i] = 7;
	ok(change_chance(x, 40, &at) == 1, "a constant does not change");
	ok(change_chance(x, 3, &at) == 1, "three values say nothing");
}

int main(void)
{
	periods();
	changes();
	return tap_done();
}
