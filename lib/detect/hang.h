/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose steps stopped. They are found before anything else is reported at the end, so that
 * what such a wait cost the device is reported with it.
 */
#ifndef INGERO_DETECT_HANG_H
#define INGERO_DETECT_HANG_H

#include "lib/account/analysis_state.h"

/* After the last event: marks the processes that are stuck. */
int hangs_find(struct cause *c, struct err *e);

#endif
