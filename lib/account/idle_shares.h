/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a program's waits and own code lies in gaps of its devices, by kind and culprit, of a
 * recording that has its calls in windows: gaps are known in these alone, waits all of the time.
 * What share of them lies in gaps makes what is lost of the same basis as all else that is known of
 * a track.
 */
#ifndef INGERO_ACCOUNT_IDLE_SHARES_H
#define INGERO_ACCOUNT_IDLE_SHARES_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/tracks/track_part.h"

struct cause;
struct loss_blame;

struct idle_share {
	uint64_t ns, gap_ns, at_most_ns;
	double factor; /* the gaps that were measured stand for so many times as much */
};

/* Zero-initialised is empty. */
struct idle_shares {
	struct map of; /* by what makes them one -> position */
	VEC(struct idle_share) v;
};

/* Of what counts of all tracks, which are finished, in processes whose gaps stand for more. False:
 * out of memory. */
bool idle_shares_sum(struct idle_shares *s, struct cause *c, struct track_parts *parts);

/* How much of this part is in gaps where the device had nothing to do or, at_most, may have had; of
 * all that b is to blame for (loss_blame_idle) the same share is. */
uint64_t idle_shares_gap_ns(const struct idle_shares *s, const struct cause *c, uint32_t anchor,
			    const struct loss_blame *b, const struct track_part *p, bool at_most);

void idle_shares_free(struct idle_shares *s);

#endif
