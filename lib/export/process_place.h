/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which job and rank processes belong to, as PLACE records say it. Memory is bounded by
 * PROCESS_PLACE_MAX processes; of further ones nothing is known.
 */
#ifndef INGERO_EXPORT_PROCESS_PLACE_H
#define INGERO_EXPORT_PROCESS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

#define PROCESS_PLACE_MAX (1u << 20)

struct process_place_row {
	uint32_t process; /* world id */
	uint32_t job; /* string: the scheduler's job, else the run its ranks have in common, else
			 the pod; 0: none of them */
	int64_t rank; /* -1: none */
};

/* Zero-initialised is empty. */
struct process_place {
	VEC(struct process_place_row) v;
	struct map by; /* process -> index */
};

/* Takes PLACE records, passes over the rest; the newest statement holds. False: out of memory. */
bool process_place_record(struct process_place *p, struct world *w, const struct record *r);
/* Never NULL: of a process nothing is said about, job 0 and rank -1. */
const struct process_place_row *process_place_of(const struct process_place *p, uint32_t process);
/* The process of that number on that machine; where machine is 0, on any. */
const struct process_place_row *process_place_pid(const struct process_place *p,
						  const struct world *w, struct bytes node,
						  uint32_t pid);
void process_place_free(struct process_place *p);

#endif
