/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who plays in a generated recording: processes, threads, call sites. Interned once, before the
 * first event.
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
	SITES
};

struct sim_cast {
	uint32_t node, victim_process, hog_process, cgroup;
	uint32_t victim_pid, hog_pid, holder_tid;
	uint32_t thread_ctx[SIM_THREADS], holder_ctx, cpu_ctx;
	uint32_t holder_thread, hog_thread, worker_thread,
		idle_thread; /* as occupants and wakers */
	uint32_t runtime_stack[SITES], driver_stack[SITES], wait_stack[SITES];
	uint8_t uuid[16];
	uint64_t boot;
};

void sim_cast_fill(struct sim_cast *c, struct world *w, const struct sim_options *o);

#endif
