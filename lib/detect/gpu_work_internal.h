/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detector for the work that devices are given and for when they have none
 * (lib/gpustate/gaps.h), and the three kinds that come from it. Each span of time belongs to one of
 * them: sync-storm has the short gaps after waits that follow every few launches, gpu-idle all
 * other gaps, launch-bound the time in which work is issued.
 */
#ifndef INGERO_DETECT_GPU_WORK_INTERNAL_H
#define INGERO_DETECT_GPU_WORK_INTERNAL_H

#include "lib/world/site_frames.h"
#include "lib/account/tolls.h"
#include "lib/account/detector.h"
#include "lib/gpustate/gaps.h"

#define GPU_CAUSES_MAX 4096 /* of each kind; what does not fit is not told */

/* A place in the program that has to do with a device. */
struct gpu_place {
	struct toll_row row;
	uint32_t device, stack;
	uint16_t op;
	bool known;
};

/* One that waits for it. */
struct gpu_wait {
	struct gpu_place at; /* its toll: its short gaps */
	bool told;	     /* as a storm, which it stays */
	uint64_t waits, launches, shorts;
};

#define SHARED_OTHERS 8 /* the largest */

/* Waits at one place of a process, alone on the GPU and beside others. */
struct shared_wait {
	struct gpu_place at;
	uint64_t alone, alone_ns, beside, beside_ns;
	unsigned nothers;
	struct shared_other {	 /* who had most of a wait: its part of them */
		uint32_t device; /* position */
		uint64_t count, ns;
	} others[SHARED_OTHERS];
	/* process whose name identifies the chain from the first report on; valid once reported */
	uint32_t told_as;
	uint32_t thread, threads; /* that wait there: the first one met, and how many */
};

struct gpu_work {
	struct tolls waits, issue, shared; /* struct gpu_wait, gpu_place, shared_wait */
	struct gap_sink sink;
	struct gaps *gaps;
	struct cause *c;
	VEC(uint64_t) idle_ns; /* by device: all of its gaps, but those that nobody bounds */
	struct site_frames frames;
	struct map shared_threads;
};

/* The place among these, which is line with this op: its own where line is a stack, else its
 * frame's. NULL: out of memory, or (*nomem unset) there are too many. */
void *gpu_place_of(const struct gpu_work *g, struct tolls *kind, struct gpu_place place,
		   uint32_t line, bool *nomem);

/* One site, which is to blame: "in cudaStreamSynchronize called from ...". */
const char *gpu_place_blame(const struct cause *c, const struct gpu_place *at, struct fact *f,
			    uint64_t affected, uint64_t count);

/* Whether the waits there are a storm: few launches each, and at once the next. */
bool gpu_wait_storms(const struct gpu_wait *w);

/* All return false when out of memory. */
extern const struct tolls_def sync_storm, launch_bound, gpu_shared;
bool sync_storm_gap(const struct cause *c, struct gpu_wait *w, const struct gap *gap);
bool launch_bound_run(struct gpu_work *g, const struct gap_run *run);
bool gpu_shared_wait(struct gpu_work *g, const struct gap_wait *wait);

#endif
