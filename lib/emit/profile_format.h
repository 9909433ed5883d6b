/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the formats of profiles have in common: they gather, and write everything at the end.
 */
#ifndef INGERO_EMIT_PROFILE_FORMAT_H
#define INGERO_EMIT_PROFILE_FORMAT_H

#include "lib/emit/profile.h"

struct profile_state {
	struct emit em;
	struct profile_run *run;
};

void *profile_state_open(const struct emit *em);
int profile_state_item(void *state, const struct stream_item *it, struct err *e);
void profile_state_free(void *state);

#endif
