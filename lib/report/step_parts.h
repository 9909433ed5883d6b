/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a verdict names: the largest parts of a step, those that lead first.
 */
#ifndef INGERO_REPORT_STEP_PARTS_H
#define INGERO_REPORT_STEP_PARTS_H

#include "lib/report/step_track.h"

#define VERDICT_PARTS 3

struct step_part {
	bool leads;		   /* a severe loss, where such a finding comes first */
	uint64_t ns;		   /* in all steps; 0: there are no more parts */
	uint64_t otherwise_ns;	   /* of it for the same thread, in other ways than the text says */
	struct bytes text, course; /* borrowed, as in lib/model/paths.h */
};

/* Waits for one thread that did the same meanwhile are one part: whether it was waited for, held a
 * lock or had the CPU. */
void step_parts_find(const struct step_track *t, struct step_part best[VERDICT_PARTS]);

#endif
