/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators by what all their ranks call them: learned from the calls that make them, each in
 * its process by its handle. Bounded by COMM_IDS_MAX; of further ones it is not known.
 */
#ifndef INGERO_EXPORT_COMM_IDS_H
#define INGERO_EXPORT_COMM_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/event/event.h"

#define COMM_IDS_MAX 65536

/* Zero-initialised is empty; map_free frees it. */
struct comm_ids {
	struct map of; /* process and handle -> id */
};

/* Of every NCCL call of a world process. *known: *id is that of the communicator it is on. False:
 * out of memory. */
bool comm_ids_event(struct comm_ids *c, uint32_t process, const struct event *ev,
		    const struct op_def *op, uint64_t *id, bool *known);

#endif
