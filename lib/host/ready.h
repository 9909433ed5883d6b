/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can this machine record? What can be seen without loading anything: kernel, rights, samples, GPU.
 * Features decide, not version numbers: kernels of distributions have what newer ones brought.
 */
#ifndef INGERO_HOST_READY_H
#define INGERO_HOST_READY_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/verdict.h"
#include "lib/host/caps.h"
#include "lib/host/gpu_driver.h"
#include "lib/host/node.h"

/* btf: a file to be used instead of the kernel's own; NULL. took_probes: probes were tried, and the
 * kernel took some. */
void host_ready_kernel(struct verdicts *to, const struct host_caps *c, const char *release,
		       const char *btf, bool took_probes);
/* Exactly which rights are missing, lockdown by its mode, and why ptrace's scope is no matter. */
void host_ready_rights(struct verdicts *to, const struct host_caps *c);
void host_ready_samples(struct verdicts *to, const struct host_caps *c);

/* GPUs as NVML tells them, by a child process that may hang; at most so long. */
#define HOST_READY_GPUS 8 /* named; more are counted */
struct host_ready_gpu {
	char name[96], uuid[96];
	bool memory_known;
	uint64_t memory_used, memory_total; /* bytes */
};
struct host_ready_gpus {
	unsigned count, named;
	char driver[64]; /* "" unknown */
	enum host_gpu_module module;
	struct host_ready_gpu v[HOST_READY_GPUS];
	char why[256]; /* no count: what NVML says */
};
void host_ready_gpus(struct verdicts *to, struct host_ready_gpus *gpus, unsigned wait_ms);
/* "open kernel module", "proprietary kernel module", NULL unknown. */
const char *host_gpu_module_name(enum host_gpu_module module);
/* The GPUs named, as " NAME, 1.2 GiB of 80.0 GiB used, NAME ..." for one line; appended. */
void host_ready_gpus_text(const struct host_ready_gpus *gpus, struct buf *out);

/* Which pods have GPUs, as the kubelet tells; nothing where there is none. It is given so long. */
void host_ready_pods(struct verdicts *to, unsigned wait_ms);

#endif
