/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the slow steps of a loop come in equal distances, as a validation or a checkpoint makes
 * them: every tenth.
 */
#ifndef INGERO_TRACKS_SLOW_PERIOD_H
#define INGERO_TRACKS_SLOW_PERIOD_H

#include "lib/tracks/step_stats.h"

struct slow_period {
	uint64_t every; /* steps; 0: they do not */
	uint64_t ns;	/* of the slowest steps that do, the median one */
};

/* Of a loop of which all steps are known. */
struct slow_period slow_period_of(const struct step_stats *s, const struct loop *l);

#endif
