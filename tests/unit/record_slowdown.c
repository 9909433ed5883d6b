/* SPDX-License-Identifier: Apache-2.0 */
/* What probes cost a program by its own progress: known slowdowns, with noise and drift, against
 * the estimate. */
#include "lib/record/slowdown.h"

#include <stdlib.h>

#include "tests/tap.h"

#define MS 1e6

static double noise(unsigned *seed, double width)
{
	return 1 + width * (2.0 * rand_r(seed) / RAND_MAX - 1);
}

static void check_known(void)
{
	static const struct {
		const char *name;
		double slowdown, steps_s, noise, drift;
		double within;
	} cases[] = {
		{ "even", 0.30, 100, 0, 0, 0.01 },
		{ "noisy", 0.30, 100, 0.1, 0, 0.05 },
		{ "drifts to half its speed", 0.30, 400, 0.02, -0.5, 0.02 },
		{ "not slowed", 0, 100, 0.05, 0, 0.03 },
		{ "slow steps", 0.20, 15, 0.02, 0, 0.06 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct record_progress p = { 0 };
		struct progress_estimate e;
		unsigned seed = 3;
		bool known;

		for (int k = 0; k < 60; k++) {
			double rate = cases[i].steps_s * (1 + cases[i].drift * k / 60),
			       off = rate * 3.7 * noise(&seed, cases[i].noise),
			       on = rate * 0.3 * (1 - cases[i].slowdown) *
				    noise(&seed, cases[i].noise);

			record_progress_add(&p, false, 3700 * MS, (double)(long)(off + 0.5), 0);
			record_progress_add(&p, true, 300 * MS, on, 60 * MS);
		}
		known = record_progress_estimate(&p, &e);
		ok(known && e.slowdown > cases[i].slowdown - cases[i].within &&
			   e.slowdown < cases[i].slowdown + cases[i].within,
		   "%s: slowed by %.3f, of %.3f", cases[i].name, e.slowdown, cases[i].slowdown);
		ok(e.low <= cases[i].slowdown + 0.005 && e.high >= cases[i].slowdown - 0.005,
		   "%s: it lies between %.3f and %.3f", cases[i].name, e.low, e.high);
		is_near(e.factor, e.slowdown / 0.2, 1e-9, "%s: cost by that", cases[i].name);
	}
}

int main(void)
{
	struct record_progress p = { 0 };
	struct progress_estimate e;

	check_known();
	ok(!record_progress_estimate(&p, &e), "of nothing nothing is known");
	for (int i = 0; i < 20; i++) {
		record_progress_add(&p, true, 200 * MS, 0, MS);
		record_progress_add(&p, false, 800 * MS, 0, 0);
	}
	ok(!record_progress_estimate(&p, &e), "nor of a program without progress");
	for (int i = 0; i < 20; i++) {
		record_progress_add(&p, false, 800 * MS, 800, 0);
		record_progress_add(&p, true, 200 * MS, 200, MS);
		record_progress_break(&p);
	}
	ok(!record_progress_estimate(&p, &e), "nor across a change of load");
	return tap_done();
}
