/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with steps of their own beside those of their process, whose sleeps nobody waits for: an
 * uploader, a heartbeat. How they spend their time is no loss of the program's.
 */
#ifndef INGERO_ACCOUNT_LOSS_BACKGROUND_H
#define INGERO_ACCOUNT_LOSS_BACKGROUND_H

#include "lib/account/analysis_state.h"

/* Of all tracks, which are finished. parts: room. False: out of memory. */
bool loss_background_find(struct lost_time *l, const struct cause *c, struct track_parts *parts);

/* thread: world thread id. Known in the end; before, those may be whose main thread makes more
 * calls. */
bool loss_is_background(const struct lost_time *l, const struct cause *c, uint32_t thread);

/* How long the process slept to keep a pace: what it does faster it sleeps longer. */
uint64_t loss_paced_ns(const struct lost_time *l, uint32_t process);

#endif
