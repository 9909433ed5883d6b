/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a recording that is a recording: which events were asked for, and which records are
 * still about something in it. What says how the recording was made stays; samples, losses and
 * chains stay with the time they are about. Parts that adjoin in time have every event of the whole
 * once, and all of its records between them.
 */
#ifndef INGERO_INPUT_SLICE_H
#define INGERO_INPUT_SLICE_H

#include "lib/event/record.h"
#include "lib/filter/filter.h"

/* Whether r stays in the part that sel selects. */
bool slice_record(struct filter *sel, const struct world *w, const struct record *r);

#endif
