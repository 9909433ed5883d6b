/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tiers of calls are probed within a budget. Time gives credit, probes spend it; when it is
 * used up, the tiers whose loss costs an analysis least are paused, as many as it takes, and
 * attached again in whole windows, for which credit is saved first. When the load falls, a window
 * stays open. The times and counts come from the caller: nothing here reads a clock.
 * A burst, as a model that is made makes one, says little of what follows: behind it the tiers that
 * most costs an analysis to lose are tried again one by one, before the first window.
 * Invariant: credit is never below minus what one look can spend plus one window's plan, so over
 * any time much longer than a window the probes cost no more than the budget.
 */
#ifndef INGERO_RECORD_BUDGET_H
#define INGERO_RECORD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/event/tier.h"

/* A window is long enough for some steps of a training loop and a token of most models; windows
 * come about every BUDGET_PERIOD_NS, so that a step that is longer than a window meets them at
 * different places. */
#define BUDGET_WINDOW_LEAST_NS 200000000
#define BUDGET_WINDOW_MOST_NS  2000000000
#define BUDGET_PERIOD_NS       4000000000
/* Credit that can be saved: a burst as long as that at the budget's own rate costs nobody more. */
#define BUDGET_SAVED_NS 2000000000

struct record_budget {
	double share;	    /* of the time that probes may cost */
	double credit_ns;   /* to spend */
	int64_t last_ns;    /* the last look */
	bool shedding;	    /* some tiers are attached in windows only */
	bool shed[TIERS];   /* these */
	bool in_window;	    /* and now they are attached */
	int64_t window_ns;  /* it ends then, unless there is credit */
	double rate[TIERS]; /* ns that probes of the tier cost in a ns, while attached; newest
			       second or window */
	double others;	    /* the same of what cannot be paused */
	double phase_ns, phase_cost[TIERS]; /* of this window so far */
	int64_t trial_ns,
		trial_gap_ns; /* behind a burst: when a tier is tried again; gap 0: none is */
	enum op_tier tried;   /* the newest; TIER_KEPT: none */
};

void record_budget_start(struct record_budget *b, double share, int64_t now_ns);

/* cost_ns: what calls of each tier cost since the last look; others: what all else costs in a ns.
 * Says for each tier whether it is to be paused from here on. */
void record_budget_look(struct record_budget *b, int64_t now_ns, const double cost_ns[TIERS],
			double others, bool paused[TIERS]);

/* "launches were recorded 36.0% of the time, queries 49.3%, to stay within 2.0% (--budget): ...":
 * all tiers that were paused for some of wall_ns, in one line. False: none was. */
bool record_budget_text(struct buf *out, const uint64_t paused_ns[TIERS], double wall_ns,
			double share);

#endif
