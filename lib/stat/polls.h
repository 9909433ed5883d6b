/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether sleeps at one place poll for something: they come in runs with next to nothing between
 * them, and the runs differ in length, as what is polled for comes when it comes. Pure functions of
 * times that know no events.
 */
#ifndef INGERO_STAT_POLLS_H
#define INGERO_STAT_POLLS_H

#include <stdbool.h>
#include <stdint.h>

#define POLL_RUNS_LEAST	 10   /* fewer say nothing */
#define POLL_TIMES_LEAST 2    /* sleeps of a run, on average */
#define POLL_DIFFER	 0.25 /* of the runs are not as long as the one before */
/* Between two sleeps of a run: a look whether it is there, of a tenth of the sleep or of this. */
#define POLL_LOOK_NS 100000

/* Sleeps at one place of one thread. Zero-initialised is empty; its size does not grow. */
struct poll_sums {
	int64_t from_ns, until_ns; /* the last sleep, with what took the CPU behind it */
	uint64_t slept_ns;	   /* of it */
	uint64_t run, before;	   /* sleeps of the run that goes on, and of the one before */
	/* Of runs that are over: how many, how many differ from the one before, sleeps. */
	uint64_t runs, differ, sleeps;
	uint64_t apart_ns, aparts; /* from one sleep to the next of its run, in all */
};

/* The next sleep, in order of time, until the thread had a CPU again. other: it did something else
 * since the last one than to look. */
void polls_add(struct poll_sums *p, int64_t from_ns, int64_t woke_ns, int64_t ran_ns, bool other);

/* Something took the CPU right behind the last sleep, until then. */
void polls_extend(struct poll_sums *p, int64_t ran_ns);

struct poll {
	uint32_t interval_us; /* from one sleep to the next, at least 1; 0: it is no poll */
	float times;	      /* sleeps of a run, on average */
};

/* Whether they are a poll, or it is not certain. */
struct poll polls_verdict(const struct poll_sums *p);

/* How much of the time in it is gained at most by being woken instead: the last sleep. */
static inline double poll_gain(const struct poll *p)
{
	return p->interval_us ? 1 / (double)p->times : 1;
}

#endif
