/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of loops, found without annotations: the shortest sequence of copies, waits for the device and graph launches (op
 * and stack) that a thread repeats, once it was made five times in a row. Launches alone make no step: layers repeat them
 * within one. A step ends with the call of the sequence that waits longest; from then on every such call ends
 * one, whatever stands between (an allocation now and then does not end the loop). When it stays away a new sequence
 * is looked for; of several phases the one that took longest is kept. Memory is bounded per thread.
 *
 * Where the probes of copies were detached for a part of the time (PAUSED records) the waits and graph launches, which were recorded
 * throughout, go on to end steps, and a new sequence is looked for among them alone. Steps that a call ends whose own probes
 * were detached are known in windows only: how many stretches of them there are is counted.
 */
#ifndef INGERO_LINE_STEPS_H
#define INGERO_LINE_STEPS_H

#include "lib/event/paused.h"
#include "lib/line/line.h"
#include "lib/stat/sketch.h"

#define STEPS_PERIODS  5
#define STEPS_SEQUENCE 32 /* calls, at most */
#define STEPS_SLOW     8
#define STEPS_THREADS  4096

/* Whether a call is looked at. */
bool steps_hears(const struct op_def *op);

struct step_call {
	int64_t end_ns;
	uint64_t dur_ns;
	uint32_t stack;
	uint16_t op;
	bool waits;
};

struct step {
	uint64_t number; /* from 1; the first ones were made before the loop was known: parts are empty */
	int64_t start_ns;
	uint64_t dur_ns;
	uint64_t part_ns[PART_COUNT]; /* the rest is its own code, in calls or not */
};

#define STEPS_CELLS   512
#define STEPS_CELL_NS 250000000

/* Steps by when they ended: cells of equal length, which doubles when there are too many of them. */
struct step_series {
	int64_t first_ns, cell_ns;
	unsigned n;
	struct step_cell {
		uint64_t count;
		uint64_t own_ns;    /* on CPU in its own code, and waiting for the device */
		uint64_t device_ns; /* of which for the device */
	} v[STEPS_CELLS];
};

/* The steps of one loop. */
struct step_phase {
	unsigned nsequence; /* of sequence, below */
	uint64_t count, ns;
	uint64_t gaps; /* times that steps may be missing between two of them */
	int64_t start_ns, end_ns;
	struct sketch dur;
	uint64_t part_ns[PART_COUNT]; /* of all of them */
	/* Of those of which the host took next to nothing, and what it took of the others. */
	uint64_t quiet_count, quiet_ns, taken_ns;
	struct step_series series;
	struct step slow[STEPS_SLOW]; /* the longest, longest first */
	unsigned nslow;
	struct step_call sequence[STEPS_SEQUENCE]; /* in order, the last ends the step */
};

struct steps_thread {
	uint32_t thread, process, node;
	unsigned phases;
	int64_t first_ns, last_ns; /* ends of the first and the newest call, looked at or not */
	/* finding: what every call touches stands together */
	uint64_t seen;	/* calls; the newest is ring[(seen - 1) % ...] */
	uint64_t ended; /* seen, when the newest step ended */
	uint64_t cut; /* seen, when calls were missing last: what was before is compared with nothing */
	struct {      /* of the current sequence; n 0: none is known */
		unsigned n;
		uint32_t stack, op; /* of the call that ends the step */
	} ends;
	int32_t run[STEPS_SEQUENCE + 1]; /* calls in a row that equal the one so many before */
	struct { /* of the calls before the newest, newest first; while no sequence is known */
		uint32_t stack[STEPS_SEQUENCE], op[STEPS_SEQUENCE];
	} before;
	struct step open;
	unsigned broken; /* tiers of which calls are missing in the step that is open */
	bool resumed;	 /* steps may be missing before the one that is open */
	bool waits_only; /* copies were missing while no loop was known: they are not looked at any more */
	struct step_phase current; /* nsequence 0: none is known */
	struct step_phase best;	   /* of those that are over */
	struct step_call ring[STEPS_SEQUENCE * STEPS_PERIODS];
	bool gone; /* it ended; for who lets go of them */
};

struct steps;

struct steps *steps_new(void); /* NULL: out of memory */
void steps_free(struct steps *s);

/* The tiers of calls that are looked at. */
#define STEPS_TIERS (1u << TIER_WAITS | 1u << TIER_SUBMITS)

/* Calls of these tiers may be missing in the thread between the newest call and the next. */
void steps_break(struct steps *s, uint32_t thread, unsigned tiers);
/* The same as the recording's pauses have it, before this call is told. */
void steps_check_pauses(struct steps *s, const struct paused *p, const struct line_piece *next);
/* How many steps there were from the first to the last: those that are known, times the time over that of the known ones. */
uint64_t steps_estimate(const struct step_phase *p);
/* How long these took. */
static inline uint64_t steps_span_ns(const struct step_phase *p)
{
	return p->gaps ? (uint64_t)(p->end_ns - p->start_ns) : p->ns;
}

/* How long probes that see steps were detached while the thread made calls, before the phase and after it; 0 where that is
 * shorter than the phase, so that no longer loop can be missing. */
uint64_t steps_unseen_ns(const struct steps_thread *th, const struct step_phase *p,
			 const struct paused *paused);
/* When its newest call ended; seen is not 0. */
static inline int64_t steps_last_ns(const struct steps_thread *th)
{
	return th->ring[(th->seen - 1) % (STEPS_SEQUENCE * STEPS_PERIODS)].end_ns;
}

/* All false when out of memory. Outermost calls that steps_hears. */
bool steps_call(struct steps *s, const struct line_piece *p);
/* Off-CPU intervals at any depth, in order with the calls. */
bool steps_interval(struct steps *s, const struct line_piece *p);

/* Threads with calls of steps, in order of appearance. */
size_t steps_threads(const struct steps *s);
const struct steps_thread *steps_thread(const struct steps *s, size_t i);
/* Let go of what is kept of this thread: it is none of those that had calls. */
void steps_forget(struct steps *s, uint32_t thread);
/* It ended. Of such threads as were in a loop at most `most` are kept, those with the longest steps beyond the usual
 * (steps_excess), of equal ones the earlier. */
void steps_gone(struct steps *s, uint32_t thread, unsigned most);

/* By how much the loop's longest step is beyond the median one. */
uint64_t steps_excess(const struct step_phase *p);

/* Of a world thread id; NULL: none of its calls were heard. */
const struct steps_thread *steps_of(const struct steps *s, uint32_t thread);
/* What is told of a thread: NULL when it has no five steps. */
const struct step_phase *steps_told(const struct steps_thread *th);

#endif
