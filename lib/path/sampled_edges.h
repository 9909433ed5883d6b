/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What own code is at the edges of a stretch, where no CPU sample is near. A sample stands for one
 * period of the sampler: half of it before, half of it behind. In a stretch between two events that
 * is longer than that and met by one sample, both edges are left over; given to that sample, lines
 * in the middle of a loop would have up to half as much again as they took, and those at its edges
 * as much less. They are what a sample found there another time, behind the same event: over many
 * steps each line has its share.
 */
#ifndef INGERO_PATH_SAMPLED_EDGES_H
#define INGERO_PATH_SAMPLED_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"

enum sampled_edge { EDGE_BEGIN, EDGE_END, SAMPLED_EDGES };

/* Zero-initialised is empty. */
struct sampled_edges {
	int64_t half_ns; /* of the sampler's period; 0: it is not known, and an edge is the
			    sample's */
	/* Own code behind an event (segment_keys.h) -> stack of the newest sample kept, of those
	 * within half a period of an edge of it. */
	struct map by[SAMPLED_EDGES];
};

void sampled_edges_free(struct sampled_edges *s);

/* A sample at_ns, so far from the edge. What is left over there begins at the edge and is as often
 * short as long, so that the nearer a sample is the more often it is kept. False: out of memory. */
bool sampled_edges_note(struct sampled_edges *s, enum sampled_edge edge, uint32_t own,
			uint32_t stack, int64_t at_ns, int64_t far_ns);

/* 0: none was found there. */
uint32_t sampled_edges_get(const struct sampled_edges *s, enum sampled_edge edge, uint32_t own);

#endif
