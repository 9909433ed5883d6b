/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of plays.
 */
#include "lib/sim/play.h"

#include <string.h>

#include "lib/sim/plays/plays.h"

static const struct sim_play *const plays[] = {
	&play_copy_overlap, NULL, /* ends the table */
};

const struct sim_play *const *sim_plays(void)
{
	return plays;
}

const struct sim_play *sim_play_named(const char *name)
{
	for (unsigned i = 0; plays[i]; i++) {
		if (strcmp(plays[i]->name, name) == 0)
			return plays[i];
	}
	return NULL;
}
