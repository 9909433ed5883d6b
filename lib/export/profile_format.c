/* SPDX-License-Identifier: Apache-2.0 */
/* The state that the profile formats share: folded stacks, speedscope and pprof. */
#include "lib/export/profile_format.h"

#include <stdlib.h>

void *profile_state_open(const struct export_ctx *em)
{
	struct profile_state *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->em = *em;
	s->run = profile_new(em);
	if (s->run)
		return s;
	free(s);
	return NULL;
}

int profile_state_item(void *state, const struct stream_item *it, struct err *e)
{
	struct profile_state *s = state;

	return profile_item(s->run, it, e);
}

void profile_state_free(void *state)
{
	struct profile_state *s = state;

	profile_free(s->run);
	free(s);
}
