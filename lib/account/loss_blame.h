/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a part of a track is lost to: which family of losses it belongs to, and who is to blame.
 */
#ifndef INGERO_ACCOUNT_LOSS_BLAME_H
#define INGERO_ACCOUNT_LOSS_BLAME_H

#include "lib/account/analysis_state.h"

struct loss_blame {
	enum loss_family family; /* LOSS_FAMILIES: it is no loss */
	enum part part;
	uint32_t culprit;   /* culprit id; 0: nobody to name */
	unsigned sort;	    /* as of struct loss */
	bool whole, partly; /* LOSS_IDLE: as of struct loss */
	uint64_t waits;	    /* the same: of the anchor, whatever they are counted as */
	uint64_t measured_ns;
};

/* If any program makes calls, a program that makes none has no losses of its own: the programs that
 * wait for it have them. The losses of processes that it started count as its own. */
bool loss_is_elsewhere(const struct cause *c, uint32_t process, const struct track_part *p);

/* A loss of a thread with a track of its own in the process is reported for that track only, not
 * again for the thread that waited for it. */
bool loss_is_told_there(const struct cause *c, uint32_t anchor, const struct track_part *p);

/* Whether threads of the anchor's program, which are more than its CPUs, take turns in it
 * (loss_crowd.h). Known in the end. */
bool loss_is_crowded(struct cause *c, uint32_t anchor, const struct track_part *p);

/* Of a part of this anchor's track. */
struct loss_blame loss_blame_of(struct cause *c, uint32_t anchor, const struct track_part *p);

/* Of what of it lies in gaps of the device: it is a loss if no other kind has it. */
struct loss_blame loss_blame_idle(struct cause *c, uint32_t anchor, const struct track_part *p);

/* What tells the loss it is of apart (loss_key). */
uint64_t loss_blame_key(const struct cause *c, uint32_t anchor, const struct loss_blame *b);

/* Whether a step loses it, whatever the device did meanwhile: a wait that is no work of the job,
 * keeps no pace, and is for somebody who was asked (like path_cause_severity), or what Python does
 * besides. */
bool loss_is_step_stall(const struct cause *c, uint32_t anchor, const struct track_part *p);

#endif
