/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about waits, sleeps and own code of a program whose device had no work meanwhile. */
#ifndef INGERO_ADVICE_IDLE_ADVICE_H
#define INGERO_ADVICE_IDLE_ADVICE_H

#include "lib/account/loss_detector.h"

/* Adds the fixes to the finding. */
void idle_advice_add(const struct loss_view *f, struct finding *to);

/* It waits for ever, and a child of the process was killed before, or when less than half of the
 * wait was over: who ends the recording ends children, too. NULL otherwise. */
const struct cause_killed_one *idle_killed_child(const struct loss_view *f);

#endif
