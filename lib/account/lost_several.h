/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takers of a process's CPU time that each take little, put together as one finding.
 */
#ifndef INGERO_ACCOUNT_LOST_SEVERAL_H
#define INGERO_ACCOUNT_LOST_SEVERAL_H

#include "lib/account/lost_time.h"

struct cause;

/* Whether the taker of this share of the time is to be reported together with others: it took
 * little of what all took, and was not reported yet. Threads and processes of the program itself,
 * and containers, are reported alone. */
bool loss_is_small(const struct cause *c, const struct loss *x, double share);

/* The takers that were not reported, as one loss that stays valid until the next call, its takers
 * in order of what they took; *most: the one that took most. Both NULL if there are none. False:
 * out of memory. */
bool lost_time_several(struct cause *c, uint32_t process, struct loss **all, struct loss **most);

#endif
