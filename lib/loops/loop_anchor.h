/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The anchor of a loop: a call that every iteration makes exactly once, and whose probes stay
 * attached while those of kernel launches are not. It counts iterations where nothing else is left
 * of them. Learnt from iterations of which nothing is missing. A call that only some iterations
 * make still tells how many they are.
 */
#ifndef INGERO_LOOPS_LOOP_ANCHOR_H
#define INGERO_LOOPS_LOOP_ANCHOR_H

#include <stdbool.h>
#include <stdint.h>

#define LOOP_ANCHORS	 8  /* calls that are considered */
#define LOOP_ANCHOR_MIN	 4  /* iterations until one is chosen */
#define LOOP_ANCHOR_WAIT 32 /* the same of a wait outside of calls, which may come by chance */
#define LOOP_ANCHOR_LATE 0.02

struct loop_anchor {
	struct {
		uint64_t key;	  /* of the call: op, functions and line */
		uint64_t once;	  /* whole iterations that made it once */
		uint64_t had;	  /* whole iterations that made it */
		uint64_t since;	  /* whole iterations before it was first met */
		uint64_t sum;	  /* times in whole iterations */
		uint64_t cut;	  /* times in others */
		bool paused;	  /* in some of these */
		bool wait;	  /* it is one outside of calls */
		uint64_t late_ns; /* in these, from the iteration's begin to the call, in all */
		int64_t newest_ns;
		uint32_t n; /* times in this iteration */
		uint16_t op;
	} v[LOOP_ANCHORS];
	unsigned n;
	uint64_t whole;	   /* iterations of which nothing was missing */
	uint64_t whole_ns; /* how long they took, in all */
	uint64_t cut;	   /* others */
	int64_t begin_ns;  /* of this iteration */
};

/* A call was made at ns, or (wait) the thread waited outside of calls. */
void loop_anchor_add(struct loop_anchor *a, uint64_t key, uint16_t op, bool wait, int64_t ns);
/* How often it was made in this iteration, and which of v it is. */
unsigned loop_anchor_times(const struct loop_anchor *a, uint64_t key, unsigned *index);
/* An iteration is over, the next begins at ns. missing: tiers of which calls may be missing in it;
 * 0: it is whole. */
void loop_anchor_end(struct loop_anchor *a, unsigned missing, int64_t ns);
/* Forgets an iteration that is none: its calls say nothing. */
void loop_anchor_skip(struct loop_anchor *a, int64_t ns);
/* How many iterations there were where calls were missing, by the call that is made most often of
 * those that never were: made in each, or once where it is made at all. Bursts in a few are no
 * rate. False: it is not known. */
bool loop_anchor_estimate(const struct loop_anchor *a, uint64_t *iterations);
/* Which of these calls is the anchor; *exact: it tells when an iteration began, too, to
 * LOOP_ANCHOR_LATE of its length. -1: none is. Of calls whose tiers are paused none is taken (1 <<
 * enum op_tier, or-ed). */
int loop_anchor_choose(const struct loop_anchor *a, unsigned paused, bool *exact);

#endif
