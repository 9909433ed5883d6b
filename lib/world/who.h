/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process, thread, GPU and machine of an event, looked up once for all outputs.
 */
#ifndef INGERO_WORLD_WHO_H
#define INGERO_WORLD_WHO_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
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
	uint32_t process_name; /* as in world_process_name, of the image, else of the thread */
	uint32_t thread_name;
};

struct who who_of(const struct world *w, uint32_t ctx,
		  int64_t at_ns); /* as they were called then */

/* Another thread, such as a waker: "python train.py (pid 4711)" of a first thread, "loader (tid
 * 4712 of pid 4711)" of the others, so that no thread's name stands before a process's number. */
void who_print_thread(struct buf *out, const struct world *w, uint32_t thread, int64_t at_ns);
/* Whether it is none of the first threads of processes and gave itself a name: until then threads
 * have their process's. */
bool who_has_own_name(const struct world *w, uint32_t thread);
/* "python train.py (pid 4711)": the process of a thread. */
void who_print_process(struct buf *out, const struct world *w, uint32_t thread, int64_t at_ns);

#endif
