/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member "steps" of an analysis: the loop of each program, how long its steps take, and the
 * slow ones with what they have more of than an average one.
 */
#ifndef INGERO_TRACKS_STEPS_JSON_H
#define INGERO_TRACKS_STEPS_JSON_H

#include "lib/base/jsonw.h"
#include "lib/tracks/track.h"

/* The key and an array. Times count from start_ns. False: out of memory. */
bool steps_json(struct path_tracks *t, int64_t start_ns, struct jsonw *j);

#endif
