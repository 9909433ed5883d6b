/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lost time that a watch adds up until it is worth telling: in all, by the second over the last TALLY_PANES, and
 * where it was worst. Zero-initialised is empty.
 */
#ifndef INGERO_ACCOUNT_SUM_H
#define INGERO_ACCOUNT_SUM_H

#include "lib/account/fact.h"
#include "lib/account/found.h"

#define SUM_WORST 3

struct cause_sum {
	uint64_t ns, count, max_ns;
	uint32_t threads; /* that lost side by side: shares are of one of them on average; 0 is 1 */
	struct cause_found found;
	int64_t first_ns, last_ns;
	struct tally_pane panes[TALLY_PANES];
	struct sum_worst {
		int64_t end_ns;
		uint64_t dur_ns, lost_ns;
		uint32_t thread;
		uint16_t op;
		int64_t event_ns; /* as struct fact_moment has it */
		unsigned tiers; /* 1 << enum op_tier, or-ed, of the calls it was found by; 0: op's */
	} worst[SUM_WORST];	/* most lost first */
	struct fact_told told;
};

/* One occurrence. w->lost_ns of the w->dur_ns that ended then. */
void cause_sum_add(const struct cause *c, struct cause_sum *s, const struct sum_worst *w);

/* What it stands for in all of the recording. */
struct cause_estimate cause_sum_estimate(const struct cause *c, const struct cause_sum *s);

/* Whether it must be told now: material in the window that ends with pane or, pane INT64_MAX, over the recording (min_share
 * of wall and what the options ask for), and due (fact_due). What was told before is told again at the end. */
bool cause_sum_due(const struct cause *c, struct cause_sum *s, int64_t pane, double min_share);

/* Times, amounts, shares, and the worst moments in order of time, each with this text (which stays the caller's). */
void cause_sum_fill(const struct cause *c, const struct cause_sum *s, struct fact *f,
		    const char *moment);

#endif
