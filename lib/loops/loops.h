/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of programs, found in the Python stacks of their calls, waits and CPU samples: a step
 * begins where the line of a function jumps back, or what one line calls does. Of the loops that
 * hold nearly all of a thread's calls the outermost is the one whose iterations are steps. No
 * period, no label and no wait is needed. One pass over events in stream order; memory is bounded
 * per thread.
 *
 * Where a function is called once in each iteration and does not loop itself, the loop is its
 * caller's (loops_called.c): it is reported with the caller's frame and lines.
 *
 * Each loop is decided after LOOPS_DECIDE iterations and kept; the steps before are reported then.
 * A loop that looks as if it were inside another one waits until that is known. If it turns out
 * later all the same, the listener has to forget the thread's steps, and gets those of the outer
 * loop.
 *
 * Of a process without Python frames steps are what it repeats of its copies, waits and graph
 * launches (loops_calls.c) and, while probes of these are detached, of its threads' times off the
 * CPU.
 *
 * While probes of launches are detached (PAUSED records), iterations are counted by a call that
 * each makes once and that is still recorded, if there is one. If there is none, a step may be
 * several: it has certain false, and the loop's estimate counts it by its length.
 */
#ifndef INGERO_LOOPS_LOOPS_H
#define INGERO_LOOPS_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/stat/sketch.h"
#include "lib/world/world.h"

#define LOOPS_DECIDE  32
#define LOOPS_BEGINS  4096 /* held of a loop that is not decided */
#define LOOPS_ROWS    32   /* functions of a thread that may be loops, at once */
#define LOOPS_LINES   16   /* lines that may be */
#define LOOPS_DEPTH   64   /* Python frames, outermost first, that are looked at */
#define LOOPS_THREADS 4096 /* that live at once */
#define LOOP_STACKS   16
/* A loop that is left, or does not go on, for longer than so many of its steps is over for now. */
#define LOOPS_PAUSE_STEPS 10

/* [begin, end) of one iteration of a thread's loop. Its first event lies at begin. */
struct loop_step {
	uint32_t thread; /* world id */
	uint32_t loop;	 /* for loops_get */
	uint64_t number; /* in that loop, from 1 */
	int64_t begin_ns, end_ns;
	/* false: events are missing in it: its bounds may be late, or it is several */
	bool certain;
};

/* on_step receives the steps of each thread in order of time, without overlap; those of several
 * threads are interleaved in no particular order. A step comes when the next one begins, when its
 * loop has been left for LOOPS_PAUSE_STEPS steps, when its thread ends or with loops_finish; those
 * before the decision come at once. Stretches between two steps are of no step. */
struct loop_listener {
	void (*on_step)(struct loop_listener *l, const struct loop_step *s);
	/* A wider loop was found: the thread's steps of this loop are void, its own follow, from
	 * an earlier time on. May be NULL. */
	void (*on_restart)(struct loop_listener *l, uint32_t thread, uint32_t loop);
};

/* What is known of a loop. */
struct loop {
	uint32_t thread;
	uint32_t frame; /* world id of a Python frame of its function; later it may be known to be
			   its caller's */
	uint32_t depth; /* Python frames around it */
	uint64_t calls; /* in its steps, as recorded */
	uint32_t first_line, last_line;
	uint64_t count;	     /* steps reported */
	uint64_t uncertain;  /* of these */
	uint64_t hidden;     /* steps that may be hidden in these, while the thread had no events */
	uint64_t estimate;   /* steps, with the hidden ones */
	double fewest, most; /* as few and as many as these are by the lengths of certain ones */
	bool least;	     /* a lower bound: too few are certain to estimate the hidden ones */
	uint64_t ns;	     /* of all */
	int64_t first_ns, last_ns; /* begin of the first, end of the last */
	struct sketch dur;	   /* of the certain ones */
	bool is_void;		   /* on_restart was called */
	/* Of a process without Python frames, by the calls that it repeats: how many make a step
	 * (0: the loop was found in stacks), the one that marks them, and different stacks of them.
	 * frame is 0. */
	unsigned period;
	uint16_t op;
	uint32_t stack, stacks[LOOP_STACKS];
	unsigned nstacks;
};

struct loops;

/* w and the listener (may be NULL) stay the caller's. NULL: out of memory. */
struct loops *loops_new(const struct world *w, struct loop_listener *listener);
void loops_free(struct loops *l);

/* The next event in stream order. */
int loops_event(struct loops *l, const struct event *ev, struct err *e);
/* Any record, for PAUSED ones: before the events that came after it. */
int loops_record(struct loops *l, const struct record *r, struct err *e);
/* Events that ended between these times are missing. */
void loops_lost(struct loops *l, int64_t since_ns, int64_t until_ns);
/* No more events come: reports the steps that are open. */
int loops_finish(struct loops *l, struct err *e);

size_t loops_count(const struct loops *l);
const struct loop *loops_get(const struct loops *l, size_t i);
/* The thread's loop that took longest; -1: it has none. */
int loops_main(const struct loops *l, uint32_t thread);

/* What is held now, for tests of the bound. */
struct loops_memory {
	size_t threads, rows, begins;
};
void loops_memory(const struct loops *l, struct loops_memory *m);

#endif
