/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who an event is of, looked up once: what every output says of it.
 */
#ifndef INGERO_WORLD_WHO_H
#define INGERO_WORLD_WHO_H

#include <stdint.h>

#include "lib/world/world.h"

/* Every pointer borrowed, NULL where it is not known; names are world strings, 0 unknown. */
struct who {
	const struct world_ctx *ctx;
	const struct world_node *node;
	const struct world_process *process;
	const struct world_image *image;
	const struct world_thread *thread;
	const struct world_cgroup *cgroup;
	const struct world_gpu *gpu;
	uint32_t process_id;   /* world id */
	uint32_t process_name; /* of its image, else of the thread */
};

struct who who_of(const struct world *w, uint32_t ctx);

#endif
