/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a part of a track is lost to: which family of losses it belongs to, and who is to blame.
 */
#ifndef INGERO_CAUSE_LOSS_BLAME_H
#define INGERO_CAUSE_LOSS_BLAME_H

#include "lib/cause/inside.h"

struct loss_blame {
	enum loss_family family; /* LOSS_FAMILIES: it is no loss */
	enum part part;
	uint32_t culprit; /* culprit id; 0: nobody to name */
};

/* Of a part of this anchor's track. */
struct loss_blame loss_blame_of(struct cause *c, uint32_t anchor, const struct track_part *p);

#endif
