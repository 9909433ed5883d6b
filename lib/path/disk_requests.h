/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest block request of each process. A thread that reaps requests (io_uring, AIO) waits for
 * whatever they are for: where a disk ended one of its process when the wait ended, it was a disk.
 */
#ifndef INGERO_PATH_DISK_REQUESTS_H
#define INGERO_PATH_DISK_REQUESTS_H

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/path/segment.h"

/* The interrupt that ends a request wakes who waits for it. */
#define DISK_REQUEST_NS 200000

struct disk_request {
	int64_t end_ns;
	uint32_t device;
	bool known;
};

/* By world process id. */
struct disk_requests {
	VEC(struct disk_request) v;
};

/* ev: a block request of that process. False: out of memory. */
bool disk_requests_add(struct disk_requests *d, uint32_t process, const struct event *ev,
		       const struct op_def *def);

/* Turns the wait, of the off-CPU interval ev, into one for a disk if it was one; of one for a disk
 * that is not known, says which. */
void disk_requests_place(const struct disk_requests *d, uint32_t process, const struct event *ev,
			 const struct op_def *def, struct segment *wait);

#endif
