/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the formats of profiles have in common: they gather, and write everything at the end.
 */
#ifndef INGERO_EXPORT_PROFILE_FORMAT_H
#define INGERO_EXPORT_PROFILE_FORMAT_H

#include "lib/export/profile.h"

struct profile_state {
	struct export_ctx em;
	struct profile_run *run;
};

void *profile_state_open(const struct export_ctx *em);
int profile_state_item(void *state, const struct stream_item *it, struct err *e);
void profile_state_free(void *state);

#endif
