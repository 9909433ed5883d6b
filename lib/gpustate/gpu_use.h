/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes use one GPU, and for how long each of them had work on it. A client is a
 * process's device, by the position that its owner counts devices with.
 */
#ifndef INGERO_GPUSTATE_GPU_USE_H
#define INGERO_GPUSTATE_GPU_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct gpu_client {
	uint32_t gpu; /* world id, 0: not known which */
	bool shared;  /* another client is on it too */
	bool busy;
	int64_t busy_ns, since_ns; /* busy_ns: until since_ns, while it is busy */
};

/* Zero-initialised is empty. */
struct gpu_use {
	VEC(struct gpu_client) v;
	VEC(uint32_t) here; /* clients that are not gone */
	VEC(struct gpu_gone {
		uint32_t gpu;
		int64_t busy_ns;
	})
	gone; /* by GPU: what those had that are */
};

/* The next client, of this GPU. False: out of memory. */
bool gpu_use_add(struct gpu_use *u, uint32_t gpu);
/* It has work from now on, or none. */
void gpu_use_busy(struct gpu_use *u, uint32_t client, bool busy, int64_t now_ns);
/* It is never asked for again, and what it had is the gone ones'. False: out of memory. */
bool gpu_use_forget(struct gpu_use *u, uint32_t client);
void gpu_use_free(struct gpu_use *u);
/* How long the other clients of its GPU had work until now, added up. 0: there are none. */
uint64_t gpu_use_others(const struct gpu_use *u, uint32_t client, int64_t now_ns);

/* How long each of the others had work until some moment. Zero-initialised is empty. */
struct gpu_mark {
	uint64_t others_ns; /* all of them, added up */
	VEC(struct gpu_had {
		uint32_t client;
		int64_t ns;
	})
	v;
};

/* In the place of what it held. False: out of memory. */
bool gpu_use_mark(const struct gpu_use *u, uint32_t client, int64_t now_ns, struct gpu_mark *m);
void gpu_mark_free(struct gpu_mark *m);
/* Who of the others, that are not gone, had work for longest since then; UINT32_MAX: none of them
 * any. */
uint32_t gpu_use_most(const struct gpu_use *u, uint32_t client, int64_t now_ns,
		      const struct gpu_mark *since);

#endif
