/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration of the host tracks' BPF programs for this machine, set before they are loaded.
 */
#ifndef INGERO_ATTACH_SCHED_CONFIG_H
#define INGERO_ATTACH_SCHED_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/attach/sched_percpu.h"

#define PROBE_GPU_MAJORS 4

/* Does the kernel keep an account of what a hypervisor takes? */
enum probe_steal {
	PROBE_STEAL_UNKNOWN, /* a guest whose account has stood at 0 since it was started */
	PROBE_STEAL_KEPT,
	PROBE_STEAL_NONE, /* no hypervisor: nothing to take */
};

struct probe_sched_config {
	struct probe_percpu percpu;
	enum probe_steal steal;
	uint32_t gpu_majors[PROBE_GPU_MAJORS]; /* of character devices; unused ones are 0 */
};

/* What cannot be read stays 0: the programs then say less, and nothing wrong. */
void probe_sched_config_read(struct probe_sched_config *c);

/* stat, cpuinfo: texts of /proc/stat and /proc/cpuinfo. Only x86 says whether there is a
 * hypervisor. */
enum probe_steal probe_steal_of(struct bytes stat, struct bytes cpuinfo);

/* text: of /proc/devices. */
void probe_gpu_majors(struct bytes text, uint32_t out[PROBE_GPU_MAJORS]);

#endif
