/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes, threads and call sites of a generated recording. Interned once, before the first
 * event.
 */
#ifndef INGERO_SIM_CAST_H
#define INGERO_SIM_CAST_H

#include <stdint.h>

#include "lib/sim/sim.h"

#define SIM_THREADS 64

enum sim_site {
	SITE_LOAD,
	SITE_COPY_IN,
	SITE_FORWARD,
	SITE_BACKWARD,
	SITE_COPY_OUT,
	SITE_SYNC,
	SITE_ALLOC,
	SITE_FREE,
	SITE_INIT, /* from here on only where a plant needs them: see SITE_ROWS in cast.c */
	SITE_RETAIN,
	SITE_MODEL,
	SITE_LOAD_FORWARD,
	SITE_LOAD_BACKWARD,
	SITE_STAGE,
	SITE_RESERVE,
	SITE_RELEASE,
	SITE_REQUEST,
	SITE_SERVE_IN,
	SITE_SERVE,
	SITE_SERVE_OUT,
	SITE_SERVE_SYNC,
	SITES
};

#define SIM_SITES 16 /* of a play, at most; fewer than SITES */

/* A function of the program, in train.cpp at a line, and the call it makes; driver NULL: of no CUDA
 * library. */
struct sim_site_def {
	const char *function, *runtime, *driver;
	uint32_t line;
};

struct sim_cast {
	uint32_t node, other_node, victim_process, hog_process, cgroup, gpu;
	uint32_t victim_pid, hog_pid, holder_tid, peer_pid;
	uint32_t thread[SIM_THREADS], thread_ctx[SIM_THREADS], holder_ctx, peer_ctx, cpu_ctx,
		hog_ctx; /* of a CPU on which the hog runs */
	uint32_t other_cpu_ctx, other_worker_thread, other_idle_thread; /* on the second machine */
	uint32_t holder_thread, hog_thread, worker_thread,
		idle_thread;   /* as occupants and wakers */
	uint32_t other_thread; /* that runs beside the hog in the cgroup of a neighbour; 0: there is
				  none */
	uint32_t runtime_stack[SITES], driver_stack[SITES], wait_stack[SITES];
	uint8_t uuid[16];
	uint64_t boot;
};

/* When the process started, where that lies within the recording: so long after its beginning. */
#define SIM_COLD_START_NS 40000000

void sim_cast_fill(struct sim_cast *c, struct world *w, const struct sim_options *o);

#endif
