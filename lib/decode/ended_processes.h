/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that have ended, until all their events have come out of the rings, which may be after
 * their end. Then every module drops its state of them, so that the memory of a recording of weeks
 * stays bounded by the running processes.
 */
#ifndef INGERO_DECODE_ENDED_PROCESSES_H
#define INGERO_DECODE_ENDED_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

/* Processes without further events. */
struct gone_processes {
	struct map processes; /* of the world -> tgid */
	struct map numbers;   /* tgid -> process, of those whose number nobody has again */
};

struct ended_process {
	uint32_t tgid, process, round;
};

/* Zero-initialised knows none. */
struct ended_processes {
	VEC(struct ended_process) v; /* in the order of rounds */
	struct map numbers; /* tgid -> process that had it last, while nobody has it again */
	uint32_t round;
	struct gone_processes gone;
};

/* process: of the world. Without memory something is kept of it for ever. */
void ended_processes_add(struct ended_processes *e, uint32_t tgid, uint32_t process);
/* That number is this process's, 0: of one that is not known yet. */
void ended_processes_taken(struct ended_processes *e, uint32_t tgid, uint32_t process);
/* Those that had ended before the last call of this, borrowed until the next; NULL: none. */
const struct gone_processes *ended_processes_next(struct ended_processes *e);
void ended_processes_free(struct ended_processes *e);

#endif
