/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Python does in the first steps of a loop besides its work: a model is compiled in the first
 * one, modules are imported. It is a loss of these steps, but no step behind them has it, and the
 * shorter the recording, the larger its share.
 */
#ifndef INGERO_ACCOUNT_LOSS_EARLY_H
#define INGERO_ACCOUNT_LOSS_EARLY_H

#include <stdbool.h>
#include <stddef.h>

struct cause;
struct loss;
struct lost_time;
struct track_parts;

/* Of all losses of the end, which are summed. False: out of memory. */
bool loss_early_sum(struct lost_time *l, struct cause *c, struct track_parts *parts);

/* The share of it that is in later steps: 1 where nothing is known to be early. */
double loss_later_share(const struct loss *x);

#endif
