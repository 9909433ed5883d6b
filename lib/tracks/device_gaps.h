/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps of devices: the stretches in which all devices that a thread gives work had none, as who
 * follows their calls knows them once they are over. Held until what the thread did in them has
 * been summed.
 */
#ifndef INGERO_TRACKS_DEVICE_GAPS_H
#define INGERO_TRACKS_DEVICE_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

/* Kept of one thread, 6 MiB: then the older half goes. */
#define DEVICE_GAPS_MAX 262144

struct device_gap {
	int64_t from_ns, to_ns;
	uint32_t number; /* from 1 on */
	bool brief;   /* what the thread did on its CPU in it is no more than it takes to go on */
	bool unended; /* the recording, or the process, ended in it */
	bool at_most; /* it may have had work for some of it: no call ever waited for the device */
};

struct device_gaps_thread {
	VEC(struct device_gap) v; /* in order, apart */
	size_t at;		  /* where was looked last */
	uint32_t newest;
};

/* Zero-initialised is empty. */
struct device_gaps {
	VEC(struct device_gaps_thread *) v; /* by world thread id; NULL: none */
};

/* What of a stretch lies in gaps. */
struct gap_overlap {
	uint64_t ns, at_most_ns, unended_ns; /* unended_ns: of both */
	uint32_t number;		     /* of the last one met; 0: none */
};

/* What of it lies behind the one before. False: out of memory. */
bool device_gaps_add(struct device_gaps *g, uint32_t thread, struct device_gap gap);

/* Whether any of [from_ns, to_ns) may lie in them: most lies between two, or behind all. */
static inline bool device_gaps_meet(const struct device_gaps *g, uint32_t thread, int64_t from_ns,
				    int64_t to_ns)
{
	const struct device_gaps_thread *th = thread < g->v.n ? g->v.v[thread] : NULL;
	const struct device_gap *gap;

	if (!th || !th->v.n || th->v.v[th->v.n - 1].to_ns <= from_ns)
		return false;
	gap = &th->v.v[th->at < th->v.n ? th->at : 0];
	return gap->from_ns < to_ns || gap->to_ns <= from_ns ||
	       (gap != th->v.v && gap[-1].to_ns > from_ns);
}

/* What of [from_ns, to_ns) of the thread's time, on its CPU or not, lies in them. */
struct gap_overlap device_gaps_within(struct device_gaps *g, uint32_t thread, int64_t from_ns,
				      int64_t to_ns, bool on_cpu);

/* Nothing is asked any more of times before that; INT64_MAX: of the thread. */
void device_gaps_forget(struct device_gaps *g, uint32_t thread, int64_t before_ns);

void device_gaps_free(struct device_gaps *g);

#endif
