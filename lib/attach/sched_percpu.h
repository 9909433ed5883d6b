/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel keeps the per-CPU marks that tell an interrupt from a task and a timer from
 * another interrupt: their distances from the run queue, out of the kernel's type information. They
 * are not exported to BPF programs, and which ones exist depends on version and configuration: what
 * is not found is 0.
 */
#ifndef INGERO_ATTACH_SCHED_PERCPU_H
#define INGERO_ATTACH_SCHED_PERCPU_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct probe_percpu {
	int64_t steal_kvm;     /* struct kvm_steal_time */
	int64_t steal_account; /* what is behind the steal column of /proc/stat */
	int64_t preempt_count; /* bytes from this CPU's struct rq */
	int64_t hrtimer_bases;
	int64_t timer_bases;
	uint32_t timer_bases_size;
};

/* btf: the bytes of /sys/kernel/btf/vmlinux. ERR_DAMAGED when they are not that. */
int probe_percpu_parse(const void *btf, size_t n, struct probe_percpu *out, struct err *e);

#endif
