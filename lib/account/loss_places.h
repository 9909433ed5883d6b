/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a loss was met: calls of the victim and stretches between them, by line.
 */
#ifndef INGERO_ACCOUNT_LOSS_PLACES_H
#define INGERO_ACCOUNT_LOSS_PLACES_H

#include "lib/account/analysis_state.h"

#define LOSS_PLACES 128

/* At most LOSS_PLACES, most lost first: places of one call and line are one, with the stack that
 * lost most of it. Durations of calls are not there yet. Returns how many. */
unsigned loss_places(const struct cause *c, const struct loss *x, struct where_place *v);

/* How often it was called there, and how long that took. */
void loss_place_fill(const struct cause *c, uint32_t process, struct where_place *p);

#endif
