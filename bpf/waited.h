// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How long a thread waited for a CPU, and when whoever woke it acted: from what was seen of it and
 * from the kernel's own account (schedstat), whichever began first.
 */
#ifndef INGERO_BPF_WAITED_H
#define INGERO_BPF_WAITED_H

#include "bpf/maps.h"

static __always_inline u32 task_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return task->cpu;
}

/* How long ago that was on the run queue's clock; 0: the kernel does not say. */
static __always_inline u64 clock_since(struct task_struct *task, u64 then)
{
	u64 clock = task_queue(task)->rq->clock;

	return then && then < clock ? clock - then : 0;
}

/* On the CPU: when it got it, if not seen; up to now at the latest. */
static __always_inline u64 arrived(struct task_struct *task, u64 now)
{
	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return now;
	return now - clock_since(task, task->sched_info.last_arrival);
}

/* Waiting for a CPU, or given one just now: since when. */
static __always_inline u64 queued(struct task_struct *task, u64 now)
{
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		return now;
	return now - clock_since(task, task->sched_info.last_queued);
}

/* How long it waited since it was woken, over all run queues it was on. woken: when somebody acted
 * to wake it; 0 not seen. own: the end of that in which the CPU was its own by the kernel's
 * account. A CPU that idles, or that somebody has to leave for it, is given with the wake-up: the
 * kernel's clock stands still until it has switched. From 6.12 on a thread that sleeps may stay on
 * its run queue for a while; one that is moved to another CPU then is counted by the kernel as
 * waiting from there on. Nobody waits for a CPU before being woken: such an account is not used.
 */
static __always_inline u64 waited(struct task_struct *task, struct sched_state *s, u64 now,
				  u64 woken, u64 *own)
{
	u64 wait = 0, dur = now - s->out_ns, delay, since;

	*own = 0;
	if (s->preempted)
		return dur;
	if (s->ready_ns && s->ready_ns < now)
		wait = now - s->ready_ns;
	if (bpf_core_field_exists(task->sched_info.run_delay)) {
		since = now - queued(task, now);
		delay = task->sched_info.run_delay - s->run_delay + since;
		if (woken && delay > now - woken)
			delay = s->ready_ns ? wait : now - woken;
		if (delay > wait)
			wait = delay;
		else if (!since)
			*own = wait - delay;
	}
	return wait < dur ? wait : dur;
}

/* From when the waker acted to when the thread was ready: a CPU takes note of a wake-up by another
 * one only when it is interrupted for it, and the waker may be asleep again by then. False: nobody
 * was seen to wake it. */
static __always_inline bool waking_lead(u64 acted, u64 out, u64 ready, u32 *lead)
{
	u64 ns;

	*lead = 0;
	if (!acted)
		return 0;
	if (acted < out) /* while the sleeper was leaving its CPU */
		acted = out;
	ns = acted < ready ? ready - acted : 0;
	*lead = ns < (u32)-1 ? ns : (u32)-1;
	return 1;
}

#endif
