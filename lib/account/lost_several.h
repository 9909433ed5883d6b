/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a process that many others take the CPU from: those that each take little, as one finding.
 */
#ifndef INGERO_ACCOUNT_LOST_SEVERAL_H
#define INGERO_ACCOUNT_LOST_SEVERAL_H

#include "lib/account/lost_time.h"

struct cause;

/* Whether somebody who took this share of the time is to be told with others: it took little of
 * what all took, and was not told yet. Threads and processes of the program itself, and containers,
 * are told alone. */
bool loss_is_small(const struct cause *c, const struct loss *x, double share);

/* Those who were not told, as one that stays until this is asked for again, its takers in order of
 * what they took; *most: who took most of it. Both NULL where there are none. False: out of memory.
 */
bool lost_time_several(struct cause *c, uint32_t process, struct loss **all, struct loss **most);

#endif
