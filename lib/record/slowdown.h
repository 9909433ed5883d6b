/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much slower the recorded programs run while frequent calls are probed, by their own progress:
 * calls that are recorded throughout (waits, copies ...) are counted in windows with those probes
 * and in the times between without them. What probes cost a real program is more than a hot loop
 * shows (caches and branch predictors forget), and less where the program waits for its device.
 */
#ifndef INGERO_RECORD_SLOWDOWN_H
#define INGERO_RECORD_SLOWDOWN_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_WINDOWS 64 /* the newest count */

struct progress_window {
	double units;	 /* counted in the window */
	double expected; /* at the rate of the times before and behind it */
	double ns;
	double cost_ns; /* what its calls cost by calibration */
};

struct record_progress {
	struct progress_window window[PROGRESS_WINDOWS];
	uint64_t n; /* windows taken; the newest min(n, PROGRESS_WINDOWS) are there */
	struct progress_window open; /* one that waits for the time behind it */
	bool has_open;
	double off_units, off_ns; /* the newest time without probes */
};

/* An interval has ended: with the probes or without, so long, so many units of progress in it. */
void record_progress_add(struct record_progress *p, bool probed, double ns, double units,
			 double cost_ns);
/* Loads have changed their kind: what comes next is not to be compared with what was. */
void record_progress_break(struct record_progress *p);

struct progress_estimate {
	unsigned windows;
	double slowdown;  /* share of the progress that is lost while probed */
	double low, high; /* 95 % of the time it is between */
	double factor;	  /* true cost of a call by that, over the calibrated cost */
};
/* False: too little is known. */
bool record_progress_estimate(const struct record_progress *p, struct progress_estimate *out);

#endif
