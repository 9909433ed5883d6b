/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU health from NVIDIA's management library: libnvidia-ml is opened with dlopen, so the build
 * needs nothing, and errors distinguish a machine without it from one whose driver does not answer.
 * Numbers of the library's interface are those of its public reference
 * (docs.nvidia.com/deploy/nvml-api). Calls may take tens of milliseconds each (PCIe throughput is
 * measured over 20 ms) and may hang with a lost GPU: use lib/host/gpus.h beside a loop that must
 * not wait. One thread.
 */
#ifndef INGERO_HOST_NVML_H
#define INGERO_HOST_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

struct host_nvml;

/* Enough for 16 boards of 7 MIG slices and the boards themselves; further GPUs are ignored. */
#define HOST_GPUS_MAX 128

/* A GPU, or a slice of one (MIG). */
struct host_gpu {
	char uuid[96]; /* "GPU-…" or "MIG-…" */
	char name[96];
	uint32_t index; /* as CUDA and nvidia-smi count with all GPUs visible; a slice has its
			   board's */
	uint32_t slice; /* 1-based; 0: the board */
	bool located;	/* the next three are known */
	uint32_t domain, bus, device; /* its PCI address; of a slice not told */
};

/* One reading. */
struct host_gpu_value {
	uint32_t gpu;	 /* 0-based among host_nvml_gpus() */
	uint32_t metric; /* enum metric_id */
	uint32_t pid;	 /* of the initial pid namespace; 0: of the GPU */
	double value;	 /* in the metric's unit */
};
typedef void host_gpu_fn(void *ctx, const struct host_gpu_value *v);

/* ERR_CANNOT when there is no library, no driver or no GPU; the text says which. */
int host_nvml_open(struct host_nvml **out, struct err *e);
void host_nvml_close(struct host_nvml *n);

const struct host_gpu *host_nvml_gpus(const struct host_nvml *n, unsigned *count);
const char *host_nvml_driver(const struct host_nvml *n); /* "580.95.05"; "" unknown */

/* One round over all GPUs. What a GPU does not support is asked once and gives no values. */
void host_nvml_read(struct host_nvml *n, host_gpu_fn *fn, void *ctx);

#endif
