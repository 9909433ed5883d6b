// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The kernel's own account of what CPU quotas took: a clock per run queue of a cgroup that runs
 * while its tasks are throttled, its own quota or a parent's, cgroup v1 or v2 alike. A wait is
 * throttled for as long as the clock ran meanwhile. Which counters make up the clock depends on the
 * version.
 */
#ifndef INGERO_BPF_THROTTLE_H
#define INGERO_BPF_THROTTLE_H

#include "bpf/maps.h"

static __always_inline bool throttle_known(void)
{
	return bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count);
}

/* Time for which tasks of this run queue were throttled, so far; grows while they are. Before 6.6
 * in the scheduler's load clock, which on processors that report their frequency runs slower than
 * time. */
static __always_inline u64 throttle_clock(struct cfs_rq *q)
{
	struct rq *rq = BPF_CORE_READ(q, rq);
	u64 since, sum;

	if (bpf_core_field_exists(q->throttled_clock_self_time)) {
		since = BPF_CORE_READ(q, throttled_clock_self);
		sum = BPF_CORE_READ(q, throttled_clock_self_time);
		return sum + (since ? BPF_CORE_READ(rq, clock) - since : 0);
	}
	if (bpf_core_field_exists(q->throttled_clock_pelt_time)) {
		u64 now = BPF_CORE_READ(rq, clock_pelt) - BPF_CORE_READ(rq, lost_idle_time);

		since = BPF_CORE_READ(q, throttled_clock_pelt);
		sum = BPF_CORE_READ(q, throttled_clock_pelt_time);
		return sum + (BPF_CORE_READ(q, throttle_count) ? now - since : 0);
	}
	if (bpf_core_field_exists(q->throttled_clock_task_time)) {
		since = BPF_CORE_READ(q, throttled_clock_task);
		sum = BPF_CORE_READ(q, throttled_clock_task_time);
		return sum + (BPF_CORE_READ(q, throttle_count)
				      ? BPF_CORE_READ(rq, clock_task) - since
				      : 0);
	}
	return 0;
}

/* A wait begins. Since 6.18 single tasks are throttled, on their way back to user mode, and a task
 * that has just been woken is not one of them; before, it was whole run queues with everybody on
 * them. */
static __always_inline void throttle_begins(struct sched_state *s, struct task_struct *task)
{
	s->throttled = throttle_known();
	if (bpf_core_field_exists(task->throttled))
		s->throttled = s->throttled && s->preempted && task->throttled;
	if (s->throttled)
		s->throttle_ns = throttle_clock(task_queue(task));
}

/* The waiting task is put on another CPU's run queue: its group has another clock there. */
static __always_inline void throttle_moves(struct sched_state *s, struct task_struct *task, u32 cpu)
{
	struct cfs_rq **queues = untrusted(task)->sched_task_group->cfs_rq, *q;

	if (!s->throttled)
		return;
	s->throttled_ns += throttle_clock(task_queue(task)) - s->throttle_ns;
	if (bpf_probe_read_kernel(&q, sizeof(q), queues + cpu))
		s->throttled = 0;
	else
		s->throttle_ns = throttle_clock(q);
}

/* The wait is over: how much of it. */
static __always_inline u64 throttle_ends(struct sched_state *s, struct task_struct *task)
{
	u64 ns = s->throttled_ns;

	if (s->throttled)
		ns += throttle_clock(task_queue(task)) - s->throttle_ns;
	return ns;
}

#endif
