/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What belongs together on a timeline: work given to a stream and the call that then waits for it
 * (from the first call after the last wait), and one collective on all its ranks, by communicator
 * and sequence number. Only of outermost calls. Bounded by ARROWS_PROCESSES, ARROWS_STREAMS of each
 * and COMM_IDS_MAX: what comes beyond has no arrows.
 */
#ifndef INGERO_EXPORT_ARROWS_H
#define INGERO_EXPORT_ARROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/export/comm_ids.h"
#include "lib/event/event.h"

#define ARROWS_PROCESSES 65536
#define ARROWS_STREAMS	 16

/* Work of a stream that no call has waited for yet. */
struct arrows_stream {
	uint64_t stream, id; /* id 0: none */
	int64_t end_ns;	     /* of the call that began it */
};
struct arrows_process {
	struct arrows_stream v[ARROWS_STREAMS];
	uint32_t n, next;
};

/* Zero-initialised is empty. */
struct arrows {
	struct map by_process; /* world process -> position, plus one */
	VEC(struct arrows_process) processes;
	struct comm_ids comms;
	uint64_t made;
	uint32_t last, last_at; /* the process asked for last, and where it is, plus one */
};

/* Ids of the arrows of one call; 0 none. */
struct arrows_of {
	uint64_t begins;     /* one begins here */
	uint64_t collective; /* passes through here */
	uint64_t ends[ARROWS_STREAMS];
	unsigned nends;
};

/* The arrows of an outermost call. False: out of memory. */
bool arrows_event(struct arrows *a, uint32_t process, const struct event *ev,
		  const struct op_def *op, struct arrows_of *out);

/* Whether arrows_event can find arrows of this event. */
static inline bool arrows_wanted(const struct event *ev, const struct op_def *op)
{
	return ev->depth == 0 && (op->flags & (OP_SUBMIT | OP_SYNC) || op->source == SOURCE_NCCL);
}

void arrows_free(struct arrows *a);

#endif
