/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the generated stream, private to this room: sim.c merges the actors' events,
 * sim_records.c generates the records around them.
 */
#ifndef INGERO_SIM_STREAM_H
#define INGERO_SIM_STREAM_H

#include "lib/sim/actor.h"
#include "lib/sim/sim.h"

#define SIM_BATCH	  1024
#define SIM_BEGIN_NS	  1000000000000 /* on the monotonic clock */
#define SIM_BOOT_AHEAD_NS 2000000000
#define SIM_REAL_NS	  1767225600000000000 /* the recording begins 2026-01-01 00:00:00 UTC */
#define SIM_SECOND_NS	  1000000000
/* Pending at once: at the end open calls, layers of coverage, samples and all truths. */
#define SIM_RECORDS_MAX (40 + SIM_OPEN_MAX)

struct sim_stream {
	struct event_stream base;
	struct sim_run run;
	struct sim_actor actors[SIM_THREADS + 2];
	unsigned nactors;
	struct event batch[SIM_BATCH];
	struct record pending[SIM_RECORDS_MAX];
	unsigned npending, next_pending;
	enum { AT_SEGMENT, AT_EVENTS, AT_LAST, AT_END } at;
	int64_t tick_ns, latest_ns;
	uint64_t seconds, delivered[3]; /* by coverage layer */
	double load;			/* average so far; 0: none yet */
};

/* Records of the start, of every second, and of the end, to go out before the next events. */
void sim_say_start(struct sim_stream *s);
void sim_say_samples(struct sim_stream *s, int64_t now_ns);
void sim_say_clock(struct sim_stream *s, int64_t now_ns, const char *source);
void sim_say_end(struct sim_stream *s);

#endif
