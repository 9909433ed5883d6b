/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counterfactual: what would have been without a cause. Its intervals are taken out of the events they lie in, so
 * that a call, a step, the whole are as much shorter. At most all of it is gained; what is certain is what was lost while
 * the device had nothing to do, or as much as steps from which something was taken are longer than those from which
 * nothing was: the rest may have been hidden behind work of the device.
 */
#ifndef INGERO_CAUSE_WITHOUT_H
#define INGERO_CAUSE_WITHOUT_H

#include "lib/cause/detect/detect.h"
#include "lib/cause/fact.h"

/* What would have been without a finding: one element for each of wall time, an average step of the worst-hit thread
 * and the 99th percentile of the calls whose tail it moves, as far as they are known. */
void without_fill_group(const struct group_view *f, struct finding *to);
void without_fill_fact(const struct cause *c, const struct fact *f, struct finding *to);

/* Of the time of the steps of the worst-hit thread's loop, what the group took; 0: it is in none. */
double without_step_share(struct cause *c, const struct tally_group *g);

#endif
