/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What parts of tracks refer to by number: culprits, and the call sites of stacks.
 */
#ifndef INGERO_TRACKS_TRACK_NAMES_H
#define INGERO_TRACKS_TRACK_NAMES_H

#include "lib/base/buf.h"
#include "lib/path/path_culprits.h"
#include "lib/world/own_site.h"
#include "lib/world/site_frames.h"

/* Zero-initialised but for w and culprits.w, which are the same world. */
struct track_names {
	const struct world *w;
	struct path_culprits culprits;
	struct site_frames frames;
	struct own_sites owns;
	struct map functions; /* module and name -> the first frame met of a function */
};

/* Added to a frame's id: it stands for all of its function, as no call was made at that address. */
#define FRAME_FUNCTION 0x80000000u

/* A native frame that has a name, as its function; another frame as it is. The same number for all
 * frames of a function. */
uint32_t track_names_function(struct track_names *n, uint32_t frame);

bool track_names_is_innermost(const struct world *w, uint32_t stack, uint32_t frame);

/* The call site of a stack. met: the thread was met at its innermost frame, which is no call: where
 * that is the site, its function is. */
uint32_t track_names_site(struct track_names *n, uint32_t stack, bool met);

/* "crunch(long) (prog)" of a function, else as place_print_frame does it. */
void track_names_print(struct buf *out, const struct world *w, uint32_t frame);

/* A place at which samples found a thread is no call where it is the stack's innermost: the
 * function says it, not the address. */
void track_names_print_met(struct buf *out, const struct world *w, uint32_t stack, uint32_t frame);

static inline void track_names_init(struct track_names *n, const struct world *w)
{
	*n = (struct track_names){ .w = w, .culprits.w = w };
}

static inline void track_names_free(struct track_names *n)
{
	path_culprits_free(&n->culprits);
	map_free(&n->frames.by);
	map_free(&n->owns.by);
	map_free(&n->functions);
}

#endif
