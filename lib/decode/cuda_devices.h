/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPU is current on a thread, followed by its calls: cudaSetDevice, cuCtxSetCurrent,
 * cuCtxPushCurrent and their like, contexts by the calls that make them, GPUs by the UUIDs that the
 * driver tells the process. Only what was seen is claimed: whoever was recorded from its start and
 * has set nothing is on the runtime's device 0; after a loss, or on a thread that was there before
 * us, nothing is known until it is set again.
 */
#ifndef INGERO_DECODE_CUDA_DEVICES_H
#define INGERO_DECODE_CUDA_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/event.h"

struct cuda_devices;

struct cuda_devices_owner {
	void *ctx;
	/* Were all calls of the process seen, from its first on? Asked once per process. */
	bool (*whole)(void *ctx, uint32_t tgid);
	/* World gpu, 0 unknown, of a device as the process counts them. uuid: 16 bytes as the
	 * driver told them, NULL: it did not. *later: may be known if asked again. */
	uint32_t (*gpu)(void *ctx, uint32_t tgid, uint32_t ordinal, const uint8_t *uuid,
			bool *later);
};

/* NULL: out of memory. */
struct cuda_devices *cuda_devices_new(const struct cuda_devices_owner *owner);
void cuda_devices_free(struct cuda_devices *d);

/* A thread and what it executes, as world ids that no other thread or program has. */
struct cuda_device_user {
	uint32_t thread, image, tgid;
};

/* A call of it has ended: the GPU that is current behind it, 0 unknown. */
uint32_t cuda_devices_call(struct cuda_devices *d, const struct cuda_device_user *u,
			   const struct event *ev, const struct op_def *def);

/* Calls are missing here: the current devices of all known threads become unknown. */
void cuda_devices_lost(struct cuda_devices *d);

/* The thread, or the program, has ended: none of its events follow. 0: neither. */
void cuda_devices_ended(struct cuda_devices *d, uint32_t thread, uint32_t image);

/* Whether that op sets the current device. Unless all its calls are recorded, the current device
 * cannot be known. */
bool cuda_devices_needs(uint16_t op);

#endif
