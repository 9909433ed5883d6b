/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole machine's counters: text of /proc/stat, meminfo, loadavg and pressure to numbers.
 */
#ifndef INGERO_HOST_SYSTEM_H
#define INGERO_HOST_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

#define HOST_ALL_CPUS UINT32_MAX

/* Ticks of 10 ms since boot. guest time is inside user already. */
struct host_cpu {
	uint32_t cpu; /* HOST_ALL_CPUS: their sum */
	uint64_t user, system, idle, iowait, steal;
};

/* Each line of /proc/stat about CPUs to fn, the sum first; offline CPUs have none. *running: tasks
 * that run or wait for a CPU. False: not such a text. */
typedef void host_cpu_fn(void *ctx, const struct host_cpu *cpu);
bool host_cpus_parse(struct bytes text, host_cpu_fn *fn, void *ctx, uint64_t *running);

struct host_memory {
	uint64_t total_bytes, available_bytes, swap_total_bytes, swap_free_bytes;
};
bool host_memory_parse(struct bytes text, struct host_memory *out);

/* The first of the three averages. */
bool host_load_parse(struct bytes text, double *one_minute);

/* Microseconds in which some, or all, tasks waited for the resource. full: false in older kernels'
 * cpu file. */
struct host_pressure {
	uint64_t some_us, full_us;
	bool has_full;
};
bool host_pressure_parse(struct bytes text, struct host_pressure *out);

#endif
