/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moments of a finding: a few intervals and calls that show best what happened.
 */
#ifndef INGERO_ACCOUNT_MOMENTS_H
#define INGERO_ACCOUNT_MOMENTS_H

#include "lib/account/loss_detector.h"
#include "lib/account/fact.h"

void timeline_fill_loss(const struct loss_view *f, const struct loss_detector *d,
			struct finding *to);

/* One of them; and the one that heads them, of how busy the node was, 0: the process's (none when
 * that was not sampled). */
void timeline_add_moment(const struct cause *c, const struct fact_moment *m, struct finding *to);
void timeline_add_system(const struct cause *c, uint32_t process, uint32_t node,
			 struct finding *to);

#endif
