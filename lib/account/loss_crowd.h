/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that run more busy threads than they have CPUs: the path waits for a CPU that another
 * thread of the program has. Each of these may be needed, so that a single one is not at fault;
 * that there are too many of them is.
 */
#ifndef INGERO_ACCOUNT_LOSS_CROWD_H
#define INGERO_ACCOUNT_LOSS_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/tracks/track_part.h"

struct cause;
struct lost_time;
struct world;

/* A thread of the program that had the CPU while the path waited for one. */
struct crowd_thread {
	uint32_t thread; /* world id */
	uint64_t ns;
	int64_t first_ns, last_ns;
	uint32_t frame; /* world frame id: where it was for more of that than elsewhere; 0 not known
			 */
	uint64_t frame_ns;
	bool openmp; /* it was in an OpenMP runtime */
};

/* Of a process with a track. */
struct loss_crowd {
	uint32_t process; /* world id */
	unsigned cpus;	  /* that its threads may run on; 0 not known */
	unsigned busy;	  /* threads that wanted one at the same time, with the waiting one */
	uint64_t steps_ns, device_ns; /* of its steps; device_ns: the device was waited for */
	VEC(struct crowd_thread) threads;
};

/* Whether a thread that the path needs had the CPU that was waited for, and is of the program of
 * the anchor's process. */
bool loss_is_turn(struct cause *c, uint32_t anchor, const struct track_part *p);

/* Sums the tracks, which are finished. parts: room. False: out of memory. */
bool loss_crowd_sum(struct lost_time *l, struct cause *c, struct track_parts *parts);

/* NULL: as far as is known its busy threads are no more than its CPUs, or its steps wait for the
 * device for most of their time: they would wait longer for it. */
const struct loss_crowd *loss_crowd_of(const struct lost_time *l, uint32_t process);

/* Whether some thread was seen in an OpenMP runtime. */
bool loss_crowd_openmp_met(const struct world *w);

void loss_crowds_free(struct lost_time *l);

#endif
