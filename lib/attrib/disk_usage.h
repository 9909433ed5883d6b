/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each process read from each device and wrote to it, and how long its requests waited in the
 * queue: whether a stall is the disk's or the work's.
 */
#ifndef INGERO_ATTRIB_DISK_USAGE_H
#define INGERO_ATTRIB_DISK_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/world/world.h"

/* Block I/O of one process on one device. */
struct cause_disk {
	uint32_t process;
	uint64_t device; /* 0: not told */
	uint64_t reads, writes, read_bytes, write_bytes, ns, queue_ns;
};

/* Zero-initialised is empty. */
struct cause_disks {
	struct map by; /* hash of process and device -> v */
	VEC(struct cause_disk) v;
};

/* An IO_BLOCK event. False: out of memory. */
bool cause_disks_event(struct cause_disks *d, const struct world *w, const struct event *ev);

void cause_disks_free(struct cause_disks *d);

#endif
