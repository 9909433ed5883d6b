/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch over what devices are given and when they have nothing to do (lib/line/gaps.h), and the three kinds that
 * grow from it. Each piece of time is told by one of them: sync-storm has the short gaps behind waits after every few
 * launches, gpu-idle all other gaps, launch-bound the time in which work is issued.
 */
#ifndef INGERO_CAUSE_DETECT_GPU_WORK_H
#define INGERO_CAUSE_DETECT_GPU_WORK_H

#include "lib/cause/detect/gpu_behind.h"
#include "lib/world/site_frames.h"
#include "lib/cause/sum.h"
#include "lib/cause/watch.h"
#include "lib/line/gaps.h"

#define GPU_CAUSES_MAX 4096	  /* of each kind; what does not fit is not told */
#define GPU_GONE       UINT32_MAX /* device of what was let go of */

/* A place in the program that waits for a device. */
struct gpu_wait {
	uint32_t device, frame, stack;
	uint64_t key; /* of wait_by */
	uint16_t op;
	enum { WAIT_OPEN, WAIT_IDLE, WAIT_STORM } told; /* its gaps on CPU are told as that */
	uint64_t waits, launches, shorts;
	struct cause_sum sum; /* its short gaps */
};

/* Gaps with one cause: a state at a place. */
struct idle_cause {
	uint32_t device, wait; /* wait: position of where the gap began */
	uint64_t key;	       /* of idle_by */
	enum part part;
	uint32_t frame, until_frame; /* until_frame: frame is where the gap began, not what ran */
	uint32_t stack;
	uint32_t waker;	     /* thread; wakers of one command are one */
	bool timed_out;	     /* nobody ended it: its time ran out */
	bool writes;	     /* it waited for somebody to take what it wrote */
	uint32_t waker_comm; /* world string */
	struct gpu_behind behind;
	uint64_t unended_ns;	  /* of sum: in which the recording ended */
	int64_t unended_since_ns; /* when that gap began; valid when unended_ns */
	bool unbounded;		  /* gaps of a device that nobody waited for so far */
	struct cause_sum sum;
	uint64_t seen_ns;	   /* of sum: gaps in which it was seen itself */
	uint32_t line, line_stack; /* of own code: the frame that has most of it, by majority */
	uint64_t line_ns;	   /* by which that one leads */
};

/* Between which two calls gaps of own code lie, and what was seen running in them. */
#define IDLE_SEEN 4
struct idle_place {
	uint32_t device;
	uint64_t key;		     /* of place_by */
	uint32_t n, seen[IDLE_SEEN]; /* positions of causes */
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
	struct fact_told several;     /* many causes of which none is told by itself */
};

struct gpu_work {
	struct gap_sink sink;
	struct gaps *gaps;
	struct cause *c;
	uint64_t left_out; /* calls that gave the device work, or waited for it, and were not recorded */
	VEC(struct gpu_device) devices;
	VEC(struct gpu_wait) waits;
	VEC(struct idle_cause) idle;
	VEC(struct idle_place) places;
	VEC(struct issue_cause) issue;
	struct site_frames frames;
	VEC(struct shared_wait) shared;
	VEC(uint32_t)
	unused_waits, unused_idle, unused_places, unused_issue, unused_shared; /* positions */
	struct map wait_by, idle_by, place_by, function_by, issue_by, shared_by, shared_threads;
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
/* Of the device's gaps: what has less is told with others, if at all. */
#define MIN_OF_IDLE 0.20
bool gpu_idle_gap(struct gpu_work *g, const struct cause *c, uint32_t wait, const struct gap *gap);
int gpu_idle_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e);
/* "a sleep in fetch (train.py:31)", "waiting for a pipe or file, ended by pt_data_worker, in ...", "waiting for a socket to
 * 192.0.2.1:80 in ...". process 0: without those it waited for, of which another may lead later. frame: which is named. */
void gpu_idle_text(const struct idle_cause *x, const struct cause *c, uint32_t process,
		   uint32_t frame, struct buf *out);
/* "the GPU", or which of them where the process has work on several. */
void gpu_idle_which(const struct gpu_work *g, const struct cause *c, uint32_t device,
		    struct buf *out);
/* How the thread of that stack prepares the next work while the device does this: in Python where it is. */
const char *gpu_idle_ahead(const struct cause *c, uint32_t stack);
/* The device was without work for many reasons, of which none is told alone: at the end, when those are. */
int gpu_idle_several(struct gpu_work *g, struct cause *c, struct err *e);
bool launch_bound_run(struct gpu_work *g, const struct gap_run *run);
int launch_bound_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e);
bool gpu_shared_wait(struct gpu_work *g, const struct gap_wait *wait);
int gpu_shared_settle(struct gpu_work *g, struct cause *c, int64_t pane, struct err *e);

#endif
