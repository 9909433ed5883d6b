/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a process without Python frames while its steps are looked for in the calls that
 * it repeats; private to loops_calls*.c.
 */
#ifndef INGERO_LOOPS_LOOPS_CALLS_H
#define INGERO_LOOPS_LOOPS_CALLS_H

#include "lib/event/tier.h"
#include "lib/loops/loops_internal.h"

#define LOOPS_CALLS_HELD  4096 /* while no period is known */
#define LOOPS_CALLS_KNOWN 4    /* loops of a process that are found again */
#define LOOPS_CALLS_OWN	  16   /* threads of a process with loops of their own, at once */
/* Periods without the call that tells steps, and calls besides, end the loop. */
#define LOOPS_CALLS_AWAY      4
#define LOOPS_CALLS_BEFORE    1024 /* the same where it is looked for its begin */
#define LOOPS_CALLS_AWAY_MORE 16

struct loops_call {
	uint64_t key; /* op and stack */
	int64_t start_ns, end_ns;
	uint64_t held_ns; /* since the one before its thread waited for a CPU or a lock */
	uint32_t thread;
};

/* A thread of the process was off its CPU and waited for something. */
struct loops_wait {
	uint64_t key; /* what it waited for, and in which system call */
	int64_t start_ns, end_ns;
	uint64_t taken_ns; /* by the host from this thread, in it and since the wait before */
	uint32_t thread;
};

struct loops_calls {
	uint32_t process, node, thread;
	uint32_t only;	  /* thread whose calls are looked at; 0: all */
	unsigned threads; /* that live and made such calls */
	/* Of a thread of its own: of which process, and the next such one; of a process: the first
	 * one. */
	struct loops_calls *of, *next;
	unsigned nown;		      /* how many that are */
	bool python;		      /* it has Python frames: its loops are in them */
	bool waits_only;	      /* copies were not recorded all of the time */
	VEC(struct loops_call) v;     /* of no step yet; without a loop at most LOOPS_CALLS_HELD */
	VEC(struct loops_wait) waits; /* while no loop is known: the newest ones */
	size_t next_try;	      /* calls in v */
	int loop;		      /* number of the current loop; -1: none */
	unsigned period;
	uint64_t key;		  /* of the call that marks its steps */
	bool ends;		  /* it ends a step */
	bool open;		  /* a step has begun */
	unsigned since;		  /* calls since then */
	int64_t begin_ns, end_ns; /* of the step that is open: its newest call's end */
	uint32_t newest;	  /* thread of the newest call */
	uint64_t held_ns;	  /* of the next one */
	uint64_t taken_ns;	  /* of the next wait */
	uint64_t step_taken_ns;	  /* of the waits since the newest beginning */
	int64_t resumed_ns; /* no step is open: when the first call after the last one began */
	uint64_t calls;	    /* in the step */
	int64_t told_ns;    /* end of the newest step */
	struct loop_lengths lengths; /* of its steps, as of late */
	struct loop_anchor anchor;   /* the wait that each step makes once */
	struct {
		uint64_t key;
		int loop; /* plus one; 0: none */
	} known[LOOPS_CALLS_KNOWN];
	unsigned nknown;
};

static inline uint16_t loops_calls_op(uint64_t key)
{
	return (uint16_t)(key >> 32);
}

static inline bool loops_calls_is_wait(const struct loops *l, uint64_t key)
{
	return l->kinds[loops_calls_op(key)] & LOOPS_WAITS;
}

/* loops_calls_tell.c. The loop's next call was made. False: the loop is over. */
bool loops_calls_follow(struct loops *l, struct loops_calls *c, const struct loops_call *call);
/* Its threads waited: where the call that tells steps is not recorded, a wait may. */
void loops_calls_meet_wait(struct loops *l, struct loops_calls *c, const struct loops_wait *wait);
/* No step is open any more. */
void loops_calls_close(struct loops *l, struct loops_calls *c);

/* loops_calls_find.c: looks for a loop in the calls that are held, and tells its steps. */
bool loops_calls_search(struct loops *l, struct loops_calls *c);
/* Whether threads make calls at the same time: they do not take turns. */
bool loops_calls_are_concurrent(const struct loops_calls *c);
/* A thread that makes steps of its own; 0: none does, or there is only one. */
uint32_t loops_calls_find_thread(struct loops *l, const struct loops_calls *c);

#endif
