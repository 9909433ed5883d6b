/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress with and without probes, as a ratio of sums over windows: counts of a window are small
 * and uneven, their sums are not. The interval is the jackknife's: each window left out once.
 */
#include "lib/record/slowdown.h"

#include <math.h>
#include <string.h>

#define WINDOWS_LEAST 6	 /* for an estimate at all */
#define UNITS_LEAST   60 /* counted in them together */
#define NORMAL_95     1.96

static void store_window(struct record_progress *p, double off_units, double off_ns)
{
	struct progress_window w = p->open;
	double units = off_units, ns = off_ns;

	p->has_open = false;
	if (p->off_ns > 0) {
		units += p->off_units;
		ns += p->off_ns;
	}
	if (ns <= 0 || units <= 0)
		return;
	w.expected = w.ns * units / ns;
	p->window[p->n++ % PROGRESS_WINDOWS] = w;
}

void record_progress_add(struct record_progress *p, bool probed, double ns, double units,
			 double cost_ns)
{
	if (probed) {
		p->open = (struct progress_window){ .units = units, .ns = ns, .cost_ns = cost_ns };
		p->has_open = true;
		return;
	}
	if (p->has_open)
		store_window(p, units, ns);
	p->off_units = units;
	p->off_ns = ns;
}

void record_progress_break(struct record_progress *p)
{
	p->has_open = false;
	p->off_ns = p->off_units = 0;
}

bool record_progress_estimate(const struct record_progress *p, struct progress_estimate *out)
{
	unsigned n = (unsigned)(p->n < PROGRESS_WINDOWS ? p->n : PROGRESS_WINDOWS);
	double units = 0, expected = 0, cost = 0, ns = 0, ratio, spread = 0, lost;

	for (unsigned i = 0; i < n; i++) {
		units += p->window[i].units;
		expected += p->window[i].expected;
		cost += p->window[i].cost_ns;
		ns += p->window[i].ns;
	}
	if (n < WINDOWS_LEAST || expected < UNITS_LEAST || ns <= 0 || cost <= 0)
		return false;
	ratio = units / expected;
	for (unsigned i = 0; i < n; i++) {
		double without = (units - p->window[i].units) / (expected - p->window[i].expected);

		spread += (without - ratio) * (without - ratio);
	}
	spread = NORMAL_95 * sqrt(spread * (n - 1) / n);
	lost = 1 - ratio;
	*out = (struct progress_estimate){ .windows = n,
					   .slowdown = lost,
					   .low = lost - spread,
					   .high = lost + spread,
					   .factor = lost * ns / cost };
	return true;
}
