// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Since when a thread is in its current page fault: since its first sleep there. A thread sleeps
 * outside system calls for other reasons, too (a lock of its address space in a fault that needs no
 * disk, a probe's trap), and no event marks their end. So a sleep belongs to this fault only if the
 * thread is at the same instruction, and the kernel has counted no other fault since.
 */
#ifndef INGERO_BPF_FAULT_H
#define INGERO_BPF_FAULT_H

#include "bpf/task.h"

static __always_inline bool fault_slept(struct task_struct *task, const struct host_state *h,
					u64 ip)
{
	return h->fault_ns && h->fault_ip == ip && h->fault_minor == task->min_flt;
}

static __always_inline void fault_sleeps(struct task_struct *task, struct host_state *h, u64 ip,
					 u64 now)
{
	if (fault_slept(task, h, ip))
		return;
	h->fault_ns = now;
	h->fault_ip = ip;
	h->fault_minor = task->min_flt;
}

/* A major fault is over, now. */
static __always_inline u64 fault_began(struct task_struct *task, struct host_state *h, u64 ip,
				       u64 now)
{
	u64 began = fault_slept(task, h, ip) ? h->fault_ns : now;

	h->fault_ns = 0;
	return began;
}

#endif
