/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the steps of a loop that is an installed package's (a trainer's): where a person's own
 * code is no more than the call of that loop, it is the line of all steps and says nothing of them.
 */
#ifndef INGERO_TRACKS_LOOP_PLACE_H
#define INGERO_TRACKS_LOOP_PLACE_H

#include "lib/loops/loops.h"
#include "lib/tracks/track_part.h"
#include "lib/world/world.h"

/* The innermost frame on the stack of the package that has the loop, where the call site (world/
 * call_site.h) lies outside of the loop; 0: it does not, or that package has none. */
uint32_t loop_place_find(const struct world *w, const struct loop *loop, uint32_t stack);

/* Puts the anchor's parts there (place, and line where the time is its own). */
void loop_place_parts(const struct world *w, const struct loop *loop, uint32_t anchor,
		      struct track_parts *parts);

#endif
