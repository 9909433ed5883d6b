/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An off-CPU interval as segments: blocked, then waiting for a CPU, slice by slice of the threads
 * that had it.
 */
#ifndef INGERO_PATH_OFFCPU_H
#define INGERO_PATH_OFFCPU_H

#include "lib/event/event.h"
#include "lib/attrib/occupancy.h"
#include "lib/path/path_thread.h"
#include "lib/world/world.h"

/* Zero-initialised is empty; each use fills it anew. */
struct offcpu_segments {
	VEC(struct segment) v;
};

/* The interval ev of th, def its definition, from event_start(ev) on. Forgets the moves of th
 * between run queues. False: out of memory. */
bool offcpu_segments(const struct world *w, const struct occupancy *o, const struct losses *losses,
		     struct path_thread *th, const struct event *ev, const struct op_def *def,
		     struct offcpu_segments *out);

/* The thread that may have sent what ended a wait for sockets, where an interrupt did; 0: none is
 * known. */
uint32_t offcpu_sender(const struct event *ev, const struct op_def *def);

#endif
