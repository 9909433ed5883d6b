/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of the training loop (loop.c), and what plants add to them that are not about losing a
 * CPU: a cold start, copies, spikes, a device shared with others (plants.c). Nobody outside this
 * room includes this.
 */
#ifndef INGERO_SIM_LOOP_H
#define INGERO_SIM_LOOP_H

#include "lib/sim/acts.h"

/* How much of a percentage of the time so far the first thread did not spend yet. */
uint64_t sim_owed(const struct sim_actor *a, unsigned percent, uint64_t spent);

void sim_copy(struct sim_actor *a, enum sim_site site, uint64_t bytes);
/* i: which of the step's kernels. */
void sim_launch(struct sim_actor *a, enum sim_site site, unsigned i);
void sim_synchronize(struct sim_actor *a, enum sim_site site);

/* ---- plants; without their option they do nothing */

/* Once, before there is any actor. */
void sim_plants_prepare(struct sim_run *r);
/* The first thread's first step: whether it was one. */
bool sim_cold_start(struct sim_actor *a);
/* Inside the runtime's launch, before the driver's: a kernel that is launched for the first time is
 * loaded. */
void sim_cold_launch(struct sim_actor *a, enum sim_site site, unsigned i);
void sim_stage(struct sim_actor *a);
void sim_reserve(struct sim_actor *a);
/* A thread is about to wait for the device. */
void sim_shared_wait(struct sim_actor *a);

#endif
