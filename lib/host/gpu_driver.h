/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's kernel driver as /proc/driver/nvidia describes it: version, which of the two kernel
 * modules it is, GPUs.
 */
#ifndef INGERO_HOST_GPU_DRIVER_H
#define INGERO_HOST_GPU_DRIVER_H

#include <stdbool.h>

#include "lib/base/bytes.h"

/* The driver comes with two kernel modules, one of them with open source. */
enum host_gpu_module { HOST_MODULE_UNKNOWN, HOST_MODULE_OPEN, HOST_MODULE_PROPRIETARY };

struct host_gpu_driver {
	char version[64]; /* "550.54.14"; "" unknown */
	enum host_gpu_module module;
	unsigned gpus;
	char model[96]; /* of the first GPU; "" unknown */
};

/* False: the driver is not loaded. */
bool host_gpu_driver_read(struct host_gpu_driver *out);

/* Version and module from the text of /proc/driver/nvidia/version; what it does not tell stays
 * unknown. */
void host_gpu_driver_parse(struct bytes text, struct host_gpu_driver *out);

#endif
