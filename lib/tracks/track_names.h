/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What parts of tracks refer to by number: culprits, and the call sites of stacks.
 */
#ifndef INGERO_TRACKS_TRACK_NAMES_H
#define INGERO_TRACKS_TRACK_NAMES_H

#include "lib/path/path_culprits.h"
#include "lib/world/own_site.h"
#include "lib/world/site_frames.h"

/* Zero-initialised but for w and culprits.w, which are the same world. */
struct track_names {
	const struct world *w;
	struct path_culprits culprits;
	struct site_frames frames;
	struct own_sites owns;
};

static inline void track_names_init(struct track_names *n, const struct world *w)
{
	*n = (struct track_names){ .w = w, .culprits.w = w };
}

static inline void track_names_free(struct track_names *n)
{
	path_culprits_free(&n->culprits);
	map_free(&n->frames.by);
	map_free(&n->owns.by);
}

#endif
