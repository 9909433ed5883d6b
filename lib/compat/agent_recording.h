/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of the older agent, which are SQLite databases (versions 0.8 to 0.17), as an event
 * stream. Its times are of the wall clock: it stores library calls with their beginning, kernel
 * events with their end; here all have their end and come in that order. It kept only a part of
 * the calls and counted all per minute: SAMPLED records give the exact number of missing ones. Rows
 * without an op here are left out and counted. It did not record why a thread was off its CPU. Two
 * reasons are inferred from the rows, by rules that hold on any machine:
 * - for a disk, where a request of the thread itself was done in the wait, most of the wait lies
 * under the request, and the thread ran again within a tick of the kernel's clock (a thread that is
 * asleep issues nothing, so the request is what it slept for unless it was asynchronous, which the
 * rows do not show);
 * - by the clock, where it lies outside calls and takes whole milliseconds and no more than the
 * default slack of timers and as long again, four times in a row of the same length, which chance
 * does once in ten thousand, with work in between. All other waits stay without a reason.
 */
#ifndef INGERO_COMPAT_AGENT_RECORDING_H
#define INGERO_COMPAT_AGENT_RECORDING_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/stream.h"
#include "lib/world/world.h"

/* Kind of the CHAIN records that say what the agent itself took for a cause: findings of nobody
 * here. Their body is its row, by the names of its columns. */
#define AGENT_CHAIN "go-agent"

struct agent_recording;

/* Who recorded it, and what was left out of it in reading. */
struct agent_recording_facts {
	uint8_t node_uuid[16];
	uint64_t boot;	     /* made up: the agent does not say */
	uint64_t salt;	     /* differs between recordings */
	uint64_t unmapped;   /* rows that have no op here, after the end */
	uint64_t pauses;     /* between the sessions that it holds, after the end */
	uint64_t impossible; /* rows with times that cannot be, after the end */
};

/* The file stays as it is. machine: what its machine is called where it does not say, borrowed;
 * NULL: "unknown". ERR_CANNOT: a database of something else; ERR_DAMAGED. */
int agent_recording_open(struct agent_recording **out, struct world *w, const char *path,
			 const char *machine, struct err *e);
void agent_recording_free(struct agent_recording *l);

/* Owned by the recording, read once. Damage met on the way is its error. */
struct event_stream *agent_recording_stream(struct agent_recording *l);
const struct agent_recording_facts *agent_recording_facts(const struct agent_recording *l);

#endif
