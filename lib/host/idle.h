/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle time of one CPU, thinned: which readings of the counter have to be written so that straight
 * lines between those that are written are right within two ticks. Of a CPU that idles or is busy
 * all through, one is written now and then.
 */
#ifndef INGERO_HOST_IDLE_H
#define INGERO_HOST_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#define HOST_IDLE_REST_NS 10000000000 /* no written reading is older than this and one turn */

struct host_idle_point {
	int64_t time_ns;
	uint64_t ticks;
};

/* Zero-initialised: nothing was read yet. */
struct host_idle {
	struct host_idle_point seen, written;
	bool some;
	uint8_t slope; /* of the counter since it was written; see idle.c */
};

/* Takes a reading; ticks of tick_ns. How many of out are to be written, in their order: none, this
 * one, or what was read last time (the counter bends there) and then perhaps this one. */
unsigned host_idle_next(struct host_idle *cpu, const struct host_idle_point *now, uint64_t tick_ns,
			struct host_idle_point out[2]);

/* At the end of a recording file: the reading that is not written yet; false: all are. */
bool host_idle_rest(struct host_idle *cpu, struct host_idle_point *out);

#endif
