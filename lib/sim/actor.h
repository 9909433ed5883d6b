/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread of a generated recording with its clock. What takes its CPU is a set of windows that
 * are functions of time alone, so that threads agree without communication. An actor's events come
 * out in canonical order, one step of its loop at a time.
 */
#ifndef INGERO_SIM_ACTOR_H
#define INGERO_SIM_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/sim/cast.h"
#include "lib/sim/random.h"
#include "lib/sim/sim.h"

enum sim_plant {
	PLANT_PREEMPTED,
	PLANT_CONTENDED,
	PLANT_THROTTLED,
	PLANT_LOCK,
	PLANT_LOCK_VIA,
	PLANT_DISK,
	PLANT_STOLEN, /* not in TRUTH records */
	PLANT_COLD,
	PLANT_COPY,
	PLANT_SPIKE,
	PLANT_SHARED,
	PLANT_ERRORS,
	PLANT_PLAY, /* whatever the play plants */
	PLANTS
};

/* A call that had not returned when the recording ended. */
struct sim_open_call {
	uint32_t thread, stack; /* world ids */
	uint16_t op;
	uint16_t depth;
	int64_t start_ns;
};
#define SIM_OPEN_MAX 16

struct sim_run {
	struct sim_options o;
	struct sim_cast cast;
	int64_t begin_ns, end_ns;
	struct sim_truth truth[PLANTS];
	struct sim_open_call open[SIM_OPEN_MAX];
	unsigned nopen;
	int64_t warm_ns;       /* cold start: other threads begin here */
	unsigned share_slower; /* device work beside the other process takes this many hundredths */
	unsigned share_windows; /* percent of the time that it is there */
	bool nomem;
};

struct sim_actor {
	struct sim_run *run;
	bool holder;	/* the thread that holds the lock, else a training thread */
	bool peer;	/* a thread of the other process on the device */
	unsigned index; /* also its CPU */
	uint32_t ctx;
	struct sim_random random;
	int64_t skew_ns;	 /* by how much its clock stands ahead */
	int64_t now_ns, step_ns; /* its clock; start of the step whose events are in out */
	unsigned depth;
	uint64_t steps, allocations;
	bool allocated;
	int64_t device_ns; /* when the device will have done what was submitted */
	int64_t alone_ns;  /* ... if nobody else used it */
	uint64_t disk_ns, late_ns, copy_ns, spike_ns; /* planted so far */
	unsigned launched;			      /* kernels that are loaded */
	uint64_t play_ns;			      /* planted so far by the play */
	uint64_t play[4];			      /* the play's own */
	uint64_t run_delay_ns, throttled_ns, throttled;
	VEC(struct event) out;
	size_t taken;
};

/* The next step into out (emptied first); false when the recording is over. */
bool sim_actor_step(struct sim_actor *a);

#define SIM_MS	     1000000
#define SIM_QUOTA_NS (100 * SIM_MS)

struct sim_window {
	int64_t start_ns, end_ns;
};

/* The first window that ends after t. Percent of time is covered, window by window around it. */
struct sim_window sim_hog_window(const struct sim_run *r, int64_t t);
/* The hog works on all CPUs of the machine at that time (hog_wave). */
bool sim_hog_peak(const struct sim_run *r, int64_t t);
struct sim_window sim_lock_window(const struct sim_run *r, int64_t t, uint64_t *k);
struct sim_window sim_throttle_window(const struct sim_run *r, int64_t t);
struct sim_window sim_steal_window(const struct sim_run *r, int64_t t);
struct sim_window sim_share_window(const struct sim_run *r, int64_t t);
/* Short work of the kernel on CPU cpu. */
struct sim_window sim_worker_window(const struct sim_run *r, unsigned cpu, int64_t t);

/* What a thread does when it gives up or loses its CPU. */
struct sim_sleep {
	enum event_object object_kind;
	uint64_t object;
	int syscall; /* -1 none */
	enum event_waker waker_kind;
	uint32_t waker; /* world thread */
	uint32_t stack;
	uint64_t late_ns; /* after the wake-up the hog holds the CPU that long */
};

/* Uses ns of CPU time, with every interruption that falls into it. */
void sim_actor_work(struct sim_actor *a, uint64_t ns);
/* Blocks until ready_ns (> now), then waits for the CPU as long as others hold it. */
void sim_actor_sleep(struct sim_actor *a, const struct sim_sleep *why, int64_t ready_ns);

/* A new event that ends now; never NULL (when memory is out, run->nomem and a scratch event). */
struct event *sim_actor_event(struct sim_actor *a, uint16_t op, int64_t start_ns, uint32_t stack);
void sim_actor_slice(struct sim_actor *a, uint32_t occupant, int64_t start_ns, int64_t end_ns);

#endif
