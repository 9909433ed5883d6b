/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of generated recordings do, one act at a time: launch, copy, wait for the
 * device, allocate, read, sleep. The training loop and the plays (sim/play.h) are made of these. A
 * site is a position among the call sites of the loop (enum sim_site) or of the play. Durations are
 * of an undisturbed machine: what is planted comes on top.
 */
#ifndef INGERO_SIM_ACTS_H
#define INGERO_SIM_ACTS_H

#include "lib/sim/actor.h"

#define SIM_STREAM_HANDLE 0x5581c3a2e0
#define SIM_DISK	  (8 << 20 | 16)

static inline void sim_set(struct event *ev, uint16_t col, uint64_t value)
{
	event_set(ev, op_builtin(ev->op), col, value);
}

static inline void sim_planted(struct sim_actor *a, enum sim_plant plant, uint64_t ns)
{
	a->run->truth[plant].lost_ns += ns;
	a->run->truth[plant].count++;
}

static inline void sim_work(struct sim_actor *a, uint64_t ns)
{
	sim_actor_work(a, sim_around(&a->random, ns));
}

void sim_submit(struct sim_actor *a, uint64_t device_ns); /* the device has that much more to do */

/* A runtime call and the driver call inside it: begin, do the driver's work, end both. The events
 * are borrowed until the next act. */
struct sim_call {
	unsigned site;
	int64_t outer_ns, inner_ns;
};
void sim_call_begin(struct sim_actor *a, struct sim_call *c, unsigned site, uint64_t runtime_ns);
struct event *sim_call_driver(struct sim_actor *a, const struct sim_call *c, uint16_t op);
struct event *sim_call_runtime(struct sim_actor *a, const struct sim_call *c, uint16_t op,
			       uint64_t after_ns);

void act_launch(struct sim_actor *a, unsigned site, uint64_t func, uint64_t device_ns);
/* The second half of it, of a call that was begun. */
void act_launched(struct sim_actor *a, const struct sim_call *c, uint64_t func, uint64_t device_ns);
void act_copy(struct sim_actor *a, unsigned site, bool in, uint64_t bytes, uint64_t device_ns);
void act_synchronize(struct sim_actor *a, unsigned site);
/* The second half of it, of a call that was begun. */
void act_synchronized(struct sim_actor *a, const struct sim_call *c, uint64_t late_ns);
/* Until the device has done its work; then late_ns more for its CPU. Inside a call. */
void act_device_wait(struct sim_actor *a, unsigned site, uint64_t late_ns);
/* ret: 0, or what both layers return. */
void act_allocate(struct sim_actor *a, unsigned site, bool allocate, uint64_t ptr, uint64_t bytes,
		  int32_t ret, uint64_t driver_ns);

/* Blocked for ns: in a sleep, on a socket until data arrives, on a read from the disk. */
void act_sleep_for(struct sim_actor *a, unsigned site, uint64_t ns);
void act_socket_wait(struct sim_actor *a, unsigned site, uint64_t ns);
void act_disk_read(struct sim_actor *a, unsigned site, uint64_t bytes, uint64_t ns);

#endif
