/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ops are recorded within a budget, decided once a second from what the last one cost. Too much: the ops with most
 * calls are given up at once, as many as it takes. An op that would fit again must have done so for some seconds before it
 * is taken back, and for twice as many each time it had to be given up again soon: a load that comes and goes makes few
 * changes.
 * Invariant: in a steady load, nothing changes any more after the second in which it began.
 */
#ifndef INGERO_PROBE_BUDGET_H
#define INGERO_PROBE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_budget_verdict { PROBE_BUDGET_STAYS, PROBE_BUDGET_GIVE_UP, PROBE_BUDGET_TAKE_BACK };

struct probe_budget_op {
	uint64_t recorded, left_out; /* calls since the last decision */
	bool given_up;
	uint32_t fits_s, hold_s; /* given up: it would have fit so long; it has to */
	uint32_t kept_s;	 /* recorded so long since it was taken back */
	enum probe_budget_verdict verdict;
};

struct probe_budget {
	double share; /* of the time that recording may take */
	double call_ns,
		skipped_ns; /* of a call that is recorded, and of one that is counted only */
	double others;	    /* share of the time that nothing here can change */
	double seconds;	    /* since the last decision */
	unsigned sample;    /* 1: all calls of an op that is recorded; n: one of n */
};

/* Sets the verdicts, and given_up by them. Returns the share that the time since the last decision took. */
double probe_budget_decide(const struct probe_budget *b, struct probe_budget_op *ops, size_t n);

#endif
