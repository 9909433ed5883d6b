/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that ran into their time-out: a thread that then waits for the same object, or at the same
 * line, again at once has waited all the time for whoever releases it in the end.
 */
#ifndef INGERO_PATH_TIMED_WAITS_H
#define INGERO_PATH_TIMED_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/event.h"
#include "lib/attrib/losses.h"
#include "lib/path/segment.h"

/* Waits this close together are one: woken by the clock, tried again. As lib/attrib/locks.c has
 * it. */
#define TIMED_AGAIN_NS	   100000
#define TIMED_AGAIN_GIL_NS 1000000
/* At one line of a program more may lie between them: a loop in Python has to catch what says that
 * the time ran out, and to work out how much is left (measured: 70 to 120 us of waits of 4 ms). A
 * tenth of the wait, and not more than this. */
#define TIMED_AGAIN_LINE_NS 1000000
/* Of longer ones the first part stays what it is: a pool that polls now and then waits for no
 * thread. Where they are known by their line, all stay: so does a server that is idle. */
#define TIMED_TOGETHER_NS 10000000000
/* CPython's interpreter lock: woken by the clock, a thread asks the holder to give way, which it
 * mostly does before the thread sleeps again: 22 to 40 us later as recorded (CPython 3.11). */
#define TIMED_GAVE_WAY_NS 100000
/* So long after the thread had the lock it is known, as the holder's own wait ends when the thread
 * takes the lock. Not longer than PATH_LAG_NS, within which nothing is walked. */
#define TIMED_TOLD_NS 100000000

/* Zero-initialised: there are none. */
struct timed_waits {
	bool open : 1, gil : 1;
	bool asked : 1;	 /* the last was for the interpreter's lock, not known whose */
	bool idle : 1;	 /* they were too long to be for whoever ends them */
	bool joined : 1; /* what ended one more of them ended all: start_ns and end_ns are of these
			  */
	uint8_t kind;	 /* enum event_object */
	uint16_t own_us; /* on its CPU since the last, before what preempted it */
	uint32_t line;	 /* world stack id where they were; 0 not known */
	int64_t start_ns, end_ns;  /* of all of them */
	int64_t last_ns, timed_ns; /* of the last one */
	int64_t awake_ns;	   /* timed_ns, but for what preempted the thread right behind it */
	uint64_t object;	   /* address */
};

/* What became of the waits in *w. */
enum timed_end {
	TIMED_OPEN,	/* nothing yet, or there are none, or no thread ended them */
	TIMED_RELEASED, /* who ended the wait that was given now ended them all */
	TIMED_ENDED,	/* what ended it did: no thread that is known */
	TIMED_LOST,	/* events are missing behind them: not known */
};

/* The thread's next off-CPU interval, and its wait (NULL: it was preempted). line: world stack id
 * where that is; 0: not known, or different things are waited for there. Unless TIMED_OPEN, the
 * waits from *since_ns on are no longer in *w. */
enum timed_end timed_waits_next(struct timed_waits *w, const struct losses *losses,
				const struct event *ev, const struct op_def *def, uint32_t line,
				const struct segment *wait, int64_t *since_ns);

/* The thread was on its CPU then, which ends them if it was not woken a moment ago. */
enum timed_end timed_waits_ran(struct timed_waits *w, const struct losses *losses, int64_t at_ns,
			       int64_t *since_ns);

/* The thread made a call, or one around them returned: what it waits for now is something else. */
static inline void timed_waits_called(struct timed_waits *w)
{
	w->line = 0;
	w->open &= w->object || w->gil;
}

/* Whether nothing that comes says any more who ended them. */
static inline bool timed_waits_are_known(const struct timed_waits *w, int64_t now_ns)
{
	return !w->open && (!w->asked || now_ns > w->awake_ns + TIMED_TOLD_NS);
}

/* Another thread of the process, whose own such waits are *of, waits for the interpreter's lock,
 * ev, until the thread of *w wakes it: TIMED_RELEASED if it had the lock and gave way to that one,
 * TIMED_LOST if it may have. */
enum timed_end timed_waits_gave_way(struct timed_waits *w, const struct timed_waits *of,
				    const struct losses *losses, const struct event *ev,
				    int64_t *since_ns);

/* Events are missing there: TIMED_LOST if one of them may have said who gave way. */
enum timed_end timed_waits_lost(struct timed_waits *w, int64_t from_ns, int64_t to_ns,
				int64_t *since_ns);

#endif
