/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether sleeps keep a pace or are added to the work between them: pure functions of times that
 * know no events. A sleep that keeps a pace is as much shorter as the work before it took longer,
 * so that nothing is gained without it; one that is added does not depend on the work. Neither
 * assumes a distribution of the times. Where the work hardly differs the two are the same: that is
 * no pace.
 */
#ifndef INGERO_STAT_PACE_H
#define INGERO_STAT_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_WINDOW 64 /* sleeps that are judged together */
#define PACE_LEAST  30 /* fewer say nothing */

/* On the CPU between two ends of waiting: what a thread needs to get from one into a sleep. A
 * preemption that ended so shortly before is part of the sleep (measured: 8 to 17 us in CPython
 * with probes). */
#define PACE_ENTRY_NS 50000

enum pace { PACE_UNKNOWN, PACE_KEPT, PACE_ADDED };

/* A pace counts from a point of time, or from when the thread had a CPU again. */
enum pace_since { PACE_SINCE_WOKE, PACE_SINCE_RAN, PACE_SINCES };

/* What windows said that are over. */
struct pace_fit {
	unsigned windows;     /* judged, as far as they count */
	double weight, slope; /* of these: sums of weights, and of slopes by weight */
	double wide;	      /* of weight, where the work differs by more than timers do */
};

/* Sleeps at one place of one thread. Zero-initialised is empty; its size does not grow. */
struct pace_sums {
	int64_t woke_ns, ran_ns; /* the last; valid when begun */
	bool begun;
	unsigned n;	 /* in the window that is not full */
	double grain_ns; /* sleeps are a multiple of it: what is less is rounded; 0: they are not */
	struct pace_fit fits[PACE_SINCES];
	/* Sleeps after much more work than usual, and those of them that were as long as usual. */
	unsigned far, same;
	float asleep_ns[PACE_WINDOW], awake_ns[PACE_SINCES][PACE_WINDOW]; /* before it */
};

/* The next sleep, in order of time; one that begins before the last ended starts anew. After
 * woke_ns the thread may have waited for a CPU until ran_ns. */
void pace_add(struct pace_sums *p, int64_t from_ns, int64_t woke_ns, int64_t ran_ns);

/* By how much a sleep is shorter per time awake before it: 1 keeps a pace, 0 is added. *error: its
 * standard error. False: too few sleeps, or all alike. */
bool pace_slope(const struct pace_sums *p, enum pace_since since, double *slope, double *error);

/* PACE_UNKNOWN where neither of both is certain. */
enum pace pace_verdict(const struct pace_sums *p);

#endif
