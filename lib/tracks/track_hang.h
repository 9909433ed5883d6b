/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait in which a track ends, where it is a hang: nothing that comes from outside, and nobody
 * at work, would end it.
 */
#ifndef INGERO_TRACKS_TRACK_HANG_H
#define INGERO_TRACKS_TRACK_HANG_H

#include "lib/tracks/causes.h"
#include "lib/tracks/track.h"

/* A shorter wait is none, nor one of fewer steps: it may be a part of one. */
#define TRACK_HANG_NS	 1000000000
#define TRACK_HANG_STEPS 10

struct track_hang {
	struct path_cause cause; /* of the track's last phase */
	struct track_part part;	 /* the largest of it */
	struct path_unended chain;
};

/* After path_tracks_finish. found: there is one. False: out of memory. */
bool track_hang_find(struct path_tracks *t, size_t i, struct track_hang *h, bool *found);

/* Whether the track makes steps, and no one followed. */
bool track_hang_is_after_steps(const struct track_hang *h, const struct track *t);

#endif
