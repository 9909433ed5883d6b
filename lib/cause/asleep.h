/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that go on where a recording does: the newest ASLEEP record of each thread, until the thread is gone or the recording
 * ends. One that ended has told such waits itself, as intervals that have no end.
 */
#ifndef INGERO_CAUSE_ASLEEP_H
#define INGERO_CAUSE_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

struct cause;

/* Zero-initialised is empty. */
struct cause_asleep {
	struct map at; /* world thread -> position */
	VEC(struct cause_sleeper {
		struct record said;
		uint64_t calls; /* that its process had made when this sleep was said first */
		bool again;	/* and that was before */
	})
	v;
};

/* An ASLEEP record. False: out of memory. */
bool cause_asleep_record(struct cause *c, const struct record *r);
/* Nothing comes of this thread any more. */
void cause_asleep_gone(struct cause_asleep *a, uint32_t thread);
/* The recording of this machine ended then; node 0: of the only one. */
void cause_asleep_ended(struct cause_asleep *a, const struct world *w, uint32_t node,
			int64_t time_ns);
/* In the order of a stream; at does not hold afterwards. */
void cause_asleep_sort(struct cause_asleep *a, const struct world *w);
void cause_asleep_free(struct cause_asleep *a);

#endif
