/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which job and rank processes belong to, as PLACE records say it. Memory is bounded by PLACED_MAX processes; of further ones
 * nothing is known.
 */
#ifndef INGERO_EMIT_PLACED_H
#define INGERO_EMIT_PLACED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

#define PLACED_MAX (1u << 20)

struct placed_process {
	uint32_t process; /* world id */
	uint32_t job; /* string: the scheduler's job, else the run its ranks have in common, else the pod; 0: none of them */
	int64_t rank; /* -1: none */
};

/* Zero-initialised is empty. */
struct placed {
	VEC(struct placed_process) v;
	struct map by; /* process -> index */
};

/* Takes PLACE records, passes over the rest; the newest statement holds. False: out of memory. */
bool placed_record(struct placed *p, struct world *w, const struct record *r);
/* Never NULL: of a process nothing is said about, job 0 and rank -1. */
const struct placed_process *placed_of(const struct placed *p, uint32_t process);
/* The process of that number on that machine; where machine is 0, on any. */
const struct placed_process *placed_pid(const struct placed *p, const struct world *w,
					struct bytes node, uint32_t pid);
void placed_free(struct placed *p);

#endif
