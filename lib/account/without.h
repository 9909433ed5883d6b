/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counterfactual: what would have been without a cause, as an interval. Gains of several causes
 * do not add up: each is that of its cause alone, and all of them at once is one more.
 */
#ifndef INGERO_ACCOUNT_WITHOUT_H
#define INGERO_ACCOUNT_WITHOUT_H

#include "lib/account/loss_detector.h"
#include "lib/account/fact.h"

/* What would have been without a finding: one element for each of wall time and an average step of
 * the worst-hit thread, as far as they are known. */
void without_fill_loss(const struct loss_view *f, struct finding *to);
void without_fill_fact(const struct cause *c, const struct fact *f, struct finding *to);

/* The member "without_all": threads from whose steps several losses took, and an average step
 * without any of them. */
void without_all_json(const struct cause *c, struct jsonw *j);

#endif
