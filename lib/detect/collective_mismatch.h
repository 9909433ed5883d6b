/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective-mismatch: ranks of a communicator whose collectives of the same number are not the
 * same.
 */
#ifndef INGERO_DETECT_COLLECTIVE_MISMATCH_H
#define INGERO_DETECT_COLLECTIVE_MISMATCH_H

#include "lib/account/fact.h"
#include "lib/gpustate/collectives.h"

/* What was reported, by the number of the communicator. Zero-initialised; vec_free(&m.told). */
struct collective_mismatches {
	VEC(struct fact_told) told;
};

/* Reports the communicators whose ranks differ, if a report is due. */
int collective_mismatches_tell(struct collective_mismatches *m, struct cause *c,
			       const struct collectives *all, struct err *e);

#endif
