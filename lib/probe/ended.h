/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that have ended, until all that was said of them has come: what they did may come out of the ring after their
 * end. Then whoever keeps something of them lets go of it, so that a recording of weeks remembers those that live.
 */
#ifndef INGERO_PROBE_ENDED_H
#define INGERO_PROBE_ENDED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

/* Of these nothing comes any more. */
struct probe_gone {
	struct map processes; /* of the world -> tgid */
	struct map numbers;   /* tgid -> process, of those whose number nobody has again */
};

struct probe_ended_one {
	uint32_t tgid, process, round;
};

/* Zero-initialised knows none. */
struct probe_ended {
	VEC(struct probe_ended_one) v; /* in the order of rounds */
	struct map numbers; /* tgid -> process that had it last, while nobody has it again */
	uint32_t round;
	struct probe_gone gone;
};

/* process: of the world. Without memory something is kept of it for ever. */
void probe_ended_add(struct probe_ended *e, uint32_t tgid, uint32_t process);
/* That number is this process's, 0: of one that is not known yet. */
void probe_ended_taken(struct probe_ended *e, uint32_t tgid, uint32_t process);
/* Those that had ended before the last call of this, borrowed until the next; NULL: none. */
const struct probe_gone *probe_ended_next(struct probe_ended *e);
void probe_ended_free(struct probe_ended *e);

#endif
