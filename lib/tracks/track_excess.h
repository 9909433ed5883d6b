/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the path of one anchor had more of than the paths of others, in windows in which all of them
 * do the same: a rank on its way to a collective, and the other ranks on theirs. Calls that wait
 * for the device are left out, as it is the other ranks that end them.
 */
#ifndef INGERO_TRACKS_TRACK_EXCESS_H
#define INGERO_TRACKS_TRACK_EXCESS_H

#include "lib/tracks/causes.h"
#include "lib/tracks/track.h"

/* Of an anchor's life, on its own node's clock. */
struct track_window_of {
	uint32_t anchor; /* world thread id */
	int64_t from_ns, to_ns;
};

/* Zero-initialised is empty. */
struct track_excess {
	uint32_t anchor;       /* whose it is; 0: no window was added */
	struct track_sums own; /* all of it in WINDOW_STEPS */
	struct map others;     /* hash of what a part is -> ns, on average over the others */
	uint64_t others_ns[PATH_CLASSES];
};

void track_excess_free(struct track_excess *x);

/* Adds a window of the anchor (v[0]) and those of n - 1 others, as far as their paths are known
 * (path_tracks_known_ns). Windows of another anchor than the first one are ignored. */
int track_excess_add(struct track_excess *x, struct path_tracks *t, const struct track_window_of *v,
		     size_t n, struct err *e);

/* What it had more of, most time first: of each class as much as that exceeds the others' average,
 * by where it does. Until the stream is over, a thread that the path needs may be taken for one
 * that had its CPU. False: out of memory. */
bool track_excess_causes(const struct track_excess *x, struct path_tracks *t,
			 struct path_causes *out);

#endif
