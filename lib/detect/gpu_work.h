/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch over what devices are given and when they have nothing to do (lib/gpustate/gaps.h), and the three kinds that
 * grow from it. Each piece of time is told by one of them: sync-storm has the short gaps behind waits after every few
 * launches, gpu-idle all other gaps, launch-bound the time in which work is issued.
 */
#ifndef INGERO_DETECT_GPU_WORK_H
#define INGERO_DETECT_GPU_WORK_H

#include "lib/world/site_frames.h"
#include "lib/account/sum.h"
#include "lib/account/watch.h"
#include "lib/gpustate/gaps.h"

#define GPU_CAUSES_MAX 4096	  /* of each kind; what does not fit is not told */
#define GPU_GONE       UINT32_MAX /* device of what was let go of */

/* A place in the program that waits for a device. */
struct gpu_wait {
	uint32_t device, frame, stack;
	uint64_t key; /* of wait_by */
	uint16_t op;
	bool told; /* as a storm, which it stays */
	uint64_t waits, launches, shorts;
	struct cause_sum sum; /* its short gaps */
};

/* Places that launch, where the device could not be kept busy. */
struct issue_cause {
	uint32_t device, stack;
	uint64_t key; /* of issue_by */
	uint16_t op;
	uint64_t launches;
	struct cause_sum sum;
};

#define SHARED_OTHERS 8 /* the largest */

/* Waits at one place of a process, alone on the GPU and beside others. */
struct shared_wait {
	uint32_t device, stack;
	uint64_t key; /* of shared_by */
	uint16_t op;
	uint64_t alone, alone_ns, beside, beside_ns;
	unsigned nothers;
	struct shared_other {	 /* who had most of a wait: its part of them */
		uint32_t device; /* position */
		uint64_t count, ns;
	} others[SHARED_OTHERS];
	uint32_t told_as; /* process: by its name the chain goes from the first time on; valid once it was told */
	struct cause_sum sum;
	uint32_t thread; /* the first one met of those in sum */
};

struct gpu_device {
	uint64_t idle_ns[2], gaps[2]; /* all of its gaps; [1]: of those that nobody bounds */
};

struct gpu_work {
	struct gap_sink sink;
	struct gaps *gaps;
	struct cause *c;
	uint64_t left_out; /* calls that gave the device work, or waited for it, and were not recorded */
	VEC(struct gpu_device) devices;
	VEC(struct gpu_wait) waits;
	VEC(struct issue_cause) issue;
	struct site_frames frames;
	VEC(struct shared_wait) shared;
	VEC(uint32_t)
	unused_waits, unused_issue, unused_shared; /* positions */
	struct map wait_by, issue_by, shared_by, shared_threads;
};

/* A place for one more, of what was let go of or at the end: its position; UINT32_MAX: out of memory, or (*full) too many. */
#define gpu_place(vec, unused, by, fresh, full)                                    \
	(*(full) = (vec)->n - (unused)->n >= GPU_CAUSES_MAX,                       \
	 *(full)       ? UINT32_MAX                                                \
	 : (unused)->n ? ((vec)->v[(unused)->v[(unused)->n - 1]] = (fresh),        \
			  map_put((by), (fresh).key, (unused)->v[(unused)->n - 1]) \
				  ? (unused)->v[--(unused)->n]                     \
				  : UINT32_MAX)                                    \
	 : vec_push((vec), (fresh)) && map_put((by), (fresh).key, (vec)->n - 1)    \
		 ? (uint32_t)(vec)->n - 1                                          \
		 : UINT32_MAX)

/* Whether the waits there are a storm: few launches each, and at once the next. */
bool gpu_wait_storms(const struct gpu_wait *w);

/* All return false when out of memory, settle as watches do. */
bool sync_storm_gap(const struct cause *c, struct gpu_wait *w, const struct gap *gap);
int sync_storm_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e);
bool launch_bound_run(struct gpu_work *g, const struct gap_run *run);
int launch_bound_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e);
bool gpu_shared_wait(struct gpu_work *g, const struct gap_wait *wait);
int gpu_shared_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e);

#endif
