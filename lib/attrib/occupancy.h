/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which thread ran on each CPU while another waited for it: the last slices per CPU, in event
 * order. A wait is charged slice by slice to the threads that overlap it; what no slice covers
 * stays uncovered. Memory per CPU is bounded by OCCUPANCY_SLICES, grown as needed.
 */
#ifndef INGERO_ATTRIB_OCCUPANCY_H
#define INGERO_ATTRIB_OCCUPANCY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"

#define OCCUPANCY_SLICES 4096

struct occupancy_slice {
	int64_t start_ns, end_ns;
	uint32_t thread; /* world thread id of the occupant */
};

struct occupancy_cpu {
	struct occupancy_slice *v; /* a ring: newest at v[(next - 1) % cap] */
	uint32_t cap, next, n;
};

/* Zero-initialised is empty. */
struct occupancy {
	struct map index; /* node << 32 | cpu -> position in cpus, plus one */
	VEC(struct occupancy_cpu) cpus;
};

void occupancy_free(struct occupancy *o);

/* One slice. Slices of a CPU come in order of their end; one that does not is ignored. False: out
 * of memory. */
bool occupancy_add(struct occupancy *o, uint32_t node, uint32_t cpu, int64_t start_ns,
		   int64_t end_ns, uint32_t thread);

/* The i-th slice of that CPU from the newest (1) back; false: no further one is kept. */
bool occupancy_back(const struct occupancy *o, uint32_t node, uint32_t cpu, uint32_t i,
		    struct occupancy_slice *slice);

struct occupancy_share {
	uint32_t thread;
	uint64_t ns;
};
#define OCCUPANCY_SHARES 256 /* a build starts as many processes while one thread waits */

/* Who held the CPU during [a, b): n shares, newest occupant first; unnamed_ns: held by more
 * occupants than fit. */
struct occupancy_answer {
	unsigned n;
	uint64_t covered_ns, unnamed_ns;
	struct occupancy_share v[OCCUPANCY_SHARES]; /* the first n */
};

static inline void occupancy_none(struct occupancy_answer *ans)
{
	ans->n = 0;
	ans->covered_ns = ans->unnamed_ns = 0;
}

/* Adds to *ans, so that the pieces of a wait on several CPUs can be gathered; the caller begins
 * with occupancy_none. */
void occupancy_over(const struct occupancy *o, uint32_t node, uint32_t cpu, int64_t a, int64_t b,
		    struct occupancy_answer *ans);

/* Slices held, over all CPUs: the memory bound is OCCUPANCY_SLICES per CPU. */
size_t occupancy_held(const struct occupancy *o);

#endif
