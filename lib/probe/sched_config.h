/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host tracks' BPF programs must be told about this machine before they are loaded.
 */
#ifndef INGERO_PROBE_SCHED_CONFIG_H
#define INGERO_PROBE_SCHED_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/probe/sched_percpu.h"

#define PROBE_GPU_MAJORS 4

struct probe_sched_config {
	struct probe_percpu percpu;
	uint32_t gpu_majors[PROBE_GPU_MAJORS]; /* of character devices; unused ones are 0 */
};

/* What cannot be read stays 0: the programs then say less, and nothing wrong. */
void probe_sched_config_read(struct probe_sched_config *c);

/* text: of /proc/devices. */
void probe_gpu_majors(struct bytes text, uint32_t out[PROBE_GPU_MAJORS]);

#endif
