/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPU of the machine a process means by its device 0, 1 ...: CUDA_VISIBLE_DEVICES, as it was
 * when the process began to execute its program. A program may change it before it initialises
 * CUDA: what the driver tells the process is worth more.
 */
#ifndef INGERO_HOST_VISIBLE_H
#define INGERO_HOST_VISIBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

struct host_visible {
	bool set;    /* else all are visible, in the machine's order */
	bool by_bus; /* CUDA_DEVICE_ORDER=PCI_BUS_ID: numbers are those of nvidia-smi; else only
			among GPUs alike */
	char devices[1024]; /* the list */
};

/* False: the environment cannot be read. */
bool host_visible_read(struct host_visible *v, uint32_t pid);

enum host_visible_kind { HOST_VISIBLE_NONE, HOST_VISIBLE_INDEX, HOST_VISIBLE_UUID };
/* What stands for device `ordinal`. *index: of all GPUs; *uuid: "GPU-..." or "MIG-...", may be cut
 * short by the user. Entries behind one that is not understood are not visible. */
enum host_visible_kind host_visible_device(const struct host_visible *v, uint32_t ordinal,
					   uint32_t *index, struct bytes *uuid);

#endif
