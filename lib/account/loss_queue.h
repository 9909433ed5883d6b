/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that others wait for one after the other, because they take turns at a lock: more of them
 * gain nothing. The path goes through whoever has the lock, which seems to be at work.
 */
#ifndef INGERO_ACCOUNT_LOSS_QUEUE_H
#define INGERO_ACCOUNT_LOSS_QUEUE_H

#include "lib/account/loss_detector.h"

/* How long threads waited in all for locks that the culprit's had, as far as these are known; 0
 * also where that is less than what the loss took. */
uint64_t loss_queued_ns(const struct loss_view *f);

/* "; they take turns at a lock, others waited 11.4 s in all for it", or nothing. */
void loss_queue_print(const struct loss_view *f, struct buf *out);

/* Adds the fix for that, if they do. */
void loss_queue_recommend(const struct loss_view *f, struct finding *to);

#endif
