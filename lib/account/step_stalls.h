/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits in the steps of a loop, and what Python does in them besides: those of one kind, for one
 * culprit, in one process are lost as a whole where it is not known for the most part whether a
 * device had work meanwhile (gaps.h proves that it had none, and calls that wait for it are few in
 * many loops). Code of the program's own is so only where it is most of the steps; else what of it
 * lies in gaps is lost.
 */
#ifndef INGERO_ACCOUNT_STEP_STALLS_H
#define INGERO_ACCOUNT_STEP_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/account/line_calls.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/tracks/track_part.h"

struct cause;
struct loss_blame;

/* Code of a program's own that is less of its steps is no stall of them: any part may be what a
 * good step does. Lines that make calls of the device are not meant, whatever is computed there
 * between two calls: they are what the step is for. */
#define STEP_STALL_OWN 0.5

/* gap_ns: in gaps of a device. */
struct step_stall {
	uint64_t ns, gap_ns;
	uint32_t anchor;    /* the newest of them */
	uint64_t anchor_ns; /* of its steps */
	double share;	    /* of the steps of one anchor, at most */
};

/* Zero-initialised is empty. */
struct step_stalls {
	struct map of;	 /* loss_key -> position */
	struct map main; /* process and thread that the main thread waited for -> 1 */
	struct line_calls lines;
	VEC(struct step_stall) v;
};

/* Of all threads whose steps are known. False: out of memory. */
bool step_stalls_sum(struct step_stalls *s, struct cause *c, struct track_parts *parts);

/* Whether the main thread of the anchor's process waits for the same: another one that waits for it
 * besides, as one that waits for work, loses nothing more. */
bool step_stalls_is_mains(const struct step_stalls *s, const struct cause *c, uint32_t anchor,
			  const struct track_part *p);

enum step_stall_lost {
	STALL_IN_GAPS, /* what of it lies in gaps */
	STALL_PARTLY,  /* the same, which is the smaller part: a good step may be like that */
	STALL_WHOLE,
};

/* What of this part of a thread's steps, which b is to blame for (loss_blame_idle), is lost. */
enum step_stall_lost step_stalls_lost(const struct step_stalls *s, const struct cause *c,
				      uint32_t anchor, const struct loss_blame *b,
				      const struct track_part *p);

void step_stalls_free(struct step_stalls *s);

#endif
