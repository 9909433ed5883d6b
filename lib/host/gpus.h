/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU health beside a loop that must not wait: a child process reads lib/host/nvml.h once a second
 * and writes what it read to a pipe. A driver that hangs or a library that crashes costs the
 * readings, never the recording; the child ends with its parent and holds nothing of it open. Start
 * it before anything that other code should not inherit threads or locks from. One thread.
 */
#ifndef INGERO_HOST_GPUS_H
#define INGERO_HOST_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/host/nvml.h"

struct host_gpus;

/* Period of the readings; NVML's own utilization covers 0.16 to 1 s. */
#define HOST_GPUS_PERIOD_MS 1000

/* What host_gpus_take hands over, borrowed during the call. */
struct host_gpus_fn {
	/* Once: how many GPUs the driver has, and its version; or none and why. */
	void (*ready)(void *ctx, unsigned count, const char *text);
	/* time_ns: CLOCK_MONOTONIC when it was read. */
	void (*value)(void *ctx, int64_t time_ns, const struct host_gpu *gpu,
		      const struct host_gpu_value *v);
	void *ctx;
};

int host_gpus_start(struct host_gpus **out, struct err *e);
/* Everything that was read since the last call; never waits. */
void host_gpus_take(struct host_gpus *g, const struct host_gpus_fn *fn);
/* False: the child has ended, and nothing more will come. */
bool host_gpus_alive(const struct host_gpus *g);
/* Does not wait for a child that hangs in the driver. */
void host_gpus_stop(struct host_gpus *g);

#endif
