/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often something is lost: as often as the thread was off its CPU, whatever it waited for
 * meanwhile, and own code as often as there are steps, at however many lines it is.
 */
#ifndef INGERO_ACCOUNT_LOSS_TIMES_H
#define INGERO_ACCOUNT_LOSS_TIMES_H

#include "lib/account/loss_blame.h"
#include "lib/account/lost_time.h"

struct loss_times {
	uint64_t all, there; /* there: at the part's place */
};

static inline bool loss_is_own_code(uint32_t anchor, const struct track_part *p)
{
	return p->class == PATH_OWN && p->leaf == anchor;
}

/* How many more this part makes of x's. False: out of memory. */
bool loss_times_add(struct lost_time *l, const struct loss *x, const struct loss_blame *b,
		    uint32_t anchor, const struct track_part *p, struct loss_times *more);

#endif
