/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where own code is that no CPU sample met: what is shorter than the time between two samples is
 * met now and then only, and stands at the call before it else. So does what took the CPU from it
 * meanwhile.
 */
#ifndef INGERO_TRACKS_OWN_CODE_H
#define INGERO_TRACKS_OWN_CODE_H

#include "lib/tracks/track_part.h"

/* Of a thread's own code behind one call, parts without a sample are split over the lines at which
 * samples found the others, as they share the time that is not sampled. Where fewer than
 * OWN_CODE_SAMPLES are known it stays. Then what is unplaced is split over the anchor's own code
 * behind that call. The parts sum to what they did. hz: samples a second of each CPU, 0 the
 * recorder's default. False: out of memory. */
#define OWN_CODE_SAMPLES 8
bool own_code_place(struct track_parts *parts, uint32_t anchor, uint32_t hz);

#endif
