/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates lost time for the whole recording where the calls that it was measured by were recorded
 * for a part of it. What was measured before the first pause of the probes is all that there was
 * until then; only what was measured after it stands for more.
 */
#ifndef INGERO_ACCOUNT_FOUND_H
#define INGERO_ACCOUNT_FOUND_H

#include <stdbool.h>
#include <stdint.h>

struct cause;

/* Of a sum of lost time. Zero-initialised is empty. */
struct cause_found {
	uint32_t thread; /* of the newest addition: whose node's pauses count */
	unsigned tiers;	 /* 1 << enum op_tier, or-ed, of the calls it was measured by */
	uint64_t whole_ns, whole_count; /* measured before probes of these tiers were detached */
};

/* lost_ns, ended at end_ns, measured by calls of these tiers; tiers 0: measured all of the time. */
void cause_found_add(struct cause_found *f, const struct cause *c, uint32_t thread, unsigned tiers,
		     int64_t end_ns, uint64_t lost_ns);

struct cause_estimate {
	bool is;    /* false: all was measured, and the factors are 1 */
	bool least; /* too little was recorded since the first pause: there was at least so much */
	double ns_factor, count_factor; /* whole / measured */
	double covered;			/* share of wall time with probes attached */
};

/* For the sum's measured time and count. */
struct cause_estimate cause_found_estimate(const struct cause_found *f, const struct cause *c,
					   uint64_t ns, uint64_t count);

/* What the estimated time is compared with, to see whether it matters: the recording or, where
 * there was at least so much, the part of it with probes attached. */
uint64_t cause_estimate_wall_ns(const struct cause_estimate *e, const struct cause *c);

/* What the last TALLY_PANES seconds up to and including `pane` are compared with: the part of them
 * with probes attached, at least a twentieth of them; all of them until the first pause is
 * older. */
uint64_t cause_found_window_ns(const struct cause_found *f, const struct cause *c, int64_t pane);

#endif
