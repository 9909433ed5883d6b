/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work while the main thread of their process waits for them, as PyTorch's backward
 * pass does: they feed the device, and have tracks of their own, but what they wait for while the
 * main thread goes on holds nobody up.
 */
#ifndef INGERO_ACCOUNT_LOSS_BEHIND_H
#define INGERO_ACCOUNT_LOSS_BEHIND_H

#include "lib/account/analysis_state.h"

/* Sums the tracks, which are finished. parts: room. False: out of memory. */
bool loss_behind_sum(struct lost_time *l, const struct cause *c, struct track_parts *parts);

/* thread: world thread id, not of a main thread. Before the end, when that one's path is not known
 * as far, every one is. */
bool loss_is_behind(const struct lost_time *l, uint32_t thread);

#endif
