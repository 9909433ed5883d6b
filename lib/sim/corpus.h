/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch-heavy stream for measuring: several ranks that each replay runs of a program of calls,
 * as training loops do, with durations and gaps jittered to the nanosecond. Nothing is planted in
 * it and nothing nests deeper than a driver call in a runtime call; it is about bytes and speed,
 * not about causes. Pure function of the options.
 */
#ifndef INGERO_SIM_CORPUS_H
#define INGERO_SIM_CORPUS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

struct sim_corpus_options {
	uint64_t seed;
	uint64_t events;  /* at least this many, ending with a whole call */
	unsigned ranks;	  /* processes; 0 = 8 */
	unsigned threads; /* per rank; 0 = 2 */
	uint32_t node;	  /* told apart in the node's uuid and name, for joining several */
};

/* Items hold up to 4096 events in canonical order. w stays the caller's. */
int sim_corpus_open(struct event_stream **out, struct world *w, const struct sim_corpus_options *o,
		    struct err *e);

#endif
