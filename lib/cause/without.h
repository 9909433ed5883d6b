/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counterfactual: what would have been without a cause. Its intervals are taken out of the events they lie in, so
 * that a call, a step, the whole are as much shorter. At most all of it is gained; what is certain is what was lost while
 * the device had nothing to do: the rest may have been hidden behind work of the device.
 */
#ifndef INGERO_CAUSE_WITHOUT_H
#define INGERO_CAUSE_WITHOUT_H

#include "lib/cause/detect/detect.h"
#include "lib/cause/fact.h"

/* What would have been without a finding: one element for each of wall time and an average step of the worst-hit thread, as
 * far as they are known. */
void without_fill_loss(const struct loss_view *f, struct finding *to);
void without_fill_fact(const struct cause *c, const struct fact *f, struct finding *to);

#endif
