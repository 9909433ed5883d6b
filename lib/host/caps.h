/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine permits: the facts that decide whether and how events can be recorded. Read
 * without rights; what could not be read is marked unknown, never guessed.
 */
#ifndef INGERO_HOST_CAPS_H
#define INGERO_HOST_CAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"

enum host_lockdown {
	HOST_LOCKDOWN_UNKNOWN,
	HOST_LOCKDOWN_NONE,
	HOST_LOCKDOWN_INTEGRITY,
	HOST_LOCKDOWN_CONFIDENTIALITY
};

#define HOST_UNKNOWN INT32_MIN

struct host_caps {
	unsigned major, minor; /* of the kernel */
	uint64_t btf_bytes;    /* of /sys/kernel/btf/vmlinux; 0: none */
	uint64_t effective;    /* capabilities of this process, bit (1 << CAP_…) */
	bool initial_user_ns;  /* capabilities count in the whole machine */
	enum host_lockdown lockdown;
	int32_t perf_event_paranoid, unprivileged_bpf_disabled; /* HOST_UNKNOWN */
	uint64_t memlock_bytes;					/* UINT64_MAX: no limit */
	bool uprobes, schedstat, pressure, cgroup_v2, cpu_cgroup_v1;
};

void host_caps_read(struct host_caps *caps);

/* May load and attach BPF programs: root of the initial namespace, or CAP_BPF with CAP_PERFMON. */
bool host_caps_may_bpf(const struct host_caps *caps);
bool host_caps_has(const struct host_caps *caps, unsigned cap);
/* Names of those that are missing, "CAP_BPF, CAP_PERFMON"; "" none. looking: also those that it
 * takes to look into other users' processes and files. */
void host_caps_missing(const struct host_caps *caps, bool looking, struct buf *out);

/* "6.1.0-28-amd64" -> 6, 1. */
bool host_kernel_parse(struct bytes release, unsigned *major, unsigned *minor);
/* "none [integrity] confidentiality" */
enum host_lockdown host_lockdown_parse(struct bytes text);
/* CapEff of /proc/PID/status. */
bool host_capabilities_parse(struct bytes status, uint64_t *effective);

#endif
