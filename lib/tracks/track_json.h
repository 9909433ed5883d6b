/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks as the member "paths" of the analysis (formats/analysis.schema.json): phases with their
 * causes and, of each, the lines of the loop.
 */
#ifndef INGERO_TRACKS_TRACK_JSON_H
#define INGERO_TRACKS_TRACK_JSON_H

#include "lib/base/jsonw.h"
#include "lib/tracks/track.h"

/* Tracks told at most: those of the longest lives. */
#define TRACKS_TOLD TRACKS_KEPT

/* The key and an array. Times count from start_ns. False: out of memory. */
bool path_tracks_json(struct path_tracks *t, int64_t start_ns, struct jsonw *j);

#endif
