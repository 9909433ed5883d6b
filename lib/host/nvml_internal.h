/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML as it is loaded, shared by nvml.c, which finds GPUs and functions, and nvml_read.c, which
 * asks them. Nobody else includes this.
 */
#ifndef INGERO_HOST_NVML_INTERNAL_H
#define INGERO_HOST_NVML_INTERNAL_H

#include "lib/base/vec.h"
#include "lib/host/nvml.h"

/* Return codes that matter. */
#define NVML_NOT_SUPPORTED   3
#define NVML_NO_PERMISSION   4
#define NVML_TOO_SMALL	     7
#define NVML_NO_FUNCTION     13
#define NVML_XID	     8ull /* event type: critical XID error */
#define NVML_VIOLATION_POWER 0
#define NVML_VIOLATION_HEAT  1
#define NVML_PROCESSES_MAX   256 /* of one GPU: asked for with room for so many */
#define NVML_SLICES_MAX	     8	 /* MIG devices of a board: 7 */
#define NVML_XIDS_PER_ROUND  16
#define NVML_UNAVAILABLE     UINT64_MAX

typedef void *nvml_device;

struct nvml_pair {
	unsigned gpu, memory;
};
struct nvml_pci { /* nvmlPciInfo_t */
	char legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char id[32];
};
struct nvml_memory {
	unsigned long long total, free, used;
};
struct nvml_violation {
	unsigned long long reference_us, violation_ns;
};
struct nvml_process {
	unsigned pid;
	unsigned long long used;
	unsigned gpu_instance, compute_instance;
};
struct nvml_usage {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder;
};
struct nvml_event {
	nvml_device device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

/* Readings that are rows of a table, and how many there may be. */
#define NVML_READINGS_MAX 40
/* The function of row i, NULL: there are no more. */
const char *host_nvml_reading(unsigned i);

struct device {
	nvml_device handle;
	uint64_t off;
	uint64_t usage_since_us;
};

struct host_nvml {
	void *library;
	char driver[96];
	unsigned count;
	struct host_gpu gpus[HOST_GPUS_MAX];
	struct device devices[HOST_GPUS_MAX];
	void *functions[NVML_READINGS_MAX];
	void *events; /* set of XID errors, NULL: not to be had */
	int (*utilization)(nvml_device, struct nvml_pair *);
	int (*memory)(nvml_device, struct nvml_memory *);
	int (*violation)(nvml_device, int, struct nvml_violation *);
	int (*processes)(nvml_device, unsigned *, struct nvml_process *);
	int (*graphics)(nvml_device, unsigned *, struct nvml_process *);
	int (*usage)(nvml_device, struct nvml_usage *, unsigned *, unsigned long long);
	int (*wait)(void *set, struct nvml_event *, unsigned timeout_ms);
	int (*forget_events)(void *set);
	struct nvml_process process_room[NVML_PROCESSES_MAX];
	VEC(struct nvml_usage) usage_room;
};

#endif
