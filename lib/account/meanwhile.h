/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which other process of the recording was busy while one polled: what it polls for is not known,
 * but who makes it is seldom idle.
 */
#ifndef INGERO_ACCOUNT_MEANWHILE_H
#define INGERO_ACCOUNT_MEANWHILE_H

#include "lib/account/analysis_state.h"
#include "lib/base/buf.h"
#include "lib/account/loss_detector.h"

/* "; meanwhile python3 make.py (pid 26611) was busy or blocked for 98% of its time: it was on the
 * CPU in fsync (make.py:16) for 66%"; nothing while the recording goes on, or where all were
 * idle. */
void meanwhile_print(struct cause *c, const struct loss *x, struct buf *out);

/* Adds the command that shows what it did. */
void meanwhile_recommend(const struct loss_view *f, struct finding *to);

#endif
