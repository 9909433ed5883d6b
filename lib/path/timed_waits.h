/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits on a futex that ran into their time-out: a thread that then waits for the same object again
 * at once has waited all the time for whoever releases it in the end.
 */
#ifndef INGERO_PATH_TIMED_WAITS_H
#define INGERO_PATH_TIMED_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/event.h"
#include "lib/line/losses.h"
#include "lib/path/segment.h"

/* Waits this close together are one: woken by the clock, tried again. As lib/line/locks.c has
 * it. */
#define TIMED_AGAIN_NS	   100000
#define TIMED_AGAIN_GIL_NS 1000000
/* Of longer ones the first part stays what it is: a pool that polls now and then waits for no
 * thread. */
#define TIMED_TOGETHER_NS 10000000000

/* Zero-initialised: there are none. */
struct timed_waits {
	bool open, gil;
	int64_t start_ns, end_ns; /* of all of them */
	uint64_t object;	  /* address */
};

/* What became of the waits in *w. */
enum timed_end {
	TIMED_OPEN,	/* nothing yet, or there are none, or no thread ended them */
	TIMED_RELEASED, /* who ended the wait that was given now ended them all */
	TIMED_LOST,	/* events are missing behind them: not known */
};

/* The thread's next off-CPU interval, and its wait (NULL: it was preempted). Unless TIMED_OPEN,
 * the waits from *since_ns on are no longer in *w. */
enum timed_end timed_waits_next(struct timed_waits *w, const struct losses *losses,
				const struct event *ev, const struct op_def *def,
				const struct segment *wait, int64_t *since_ns);

/* The thread was on its CPU then, which ends them if it was not woken a moment ago. */
enum timed_end timed_waits_ran(struct timed_waits *w, const struct losses *losses, int64_t at_ns,
			       int64_t *since_ns);

#endif
