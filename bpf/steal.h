// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a hypervisor took from a CPU: a counter per CPU, read where a thread begins and ends to run
 * or to wait there and at both ends of its calls, so that every stretch knows its own. KVM writes
 * the counter into the guest's memory before it lets the CPU go on: it is exact at any moment. Else
 * it is the kernel's own account, the one behind /proc/stat, which is brought up to date once per
 * tick. Both lie in the per-CPU section and are reached from the run queue, like the marks of
 * waker.h. Invariant: where the kernel does not say what was taken nothing is sent, and no interval
 * carries a 0 for it.
 */
#ifndef INGERO_BPF_STEAL_H
#define INGERO_BPF_STEAL_H

#include "bpf/occupancy.h"

/* Bytes from the run queue to KVM's counter and to the kernel's account; 0: not there, or not known
 * to be kept. */
__weak const volatile __s64 config_steal_kvm = 0;
__weak const volatile __s64 config_steal_account = 0;
__weak const volatile __u32 config_steal_none = 0; /* no hypervisor: nothing is ever taken */

/* The beginning of struct kvm_steal_time, fixed by KVM's interface: ns, then a version of 32 bits,
 * which is 0 where the hypervisor does not keep it. */
#define STEAL_KVM_VERSION 8

static __always_inline bool steal_clock(void *rq, u64 *ns)
{
	*ns = 0;
	if (config_steal_none)
		return 1;
	if (config_steal_kvm && (u32)kernel_word(rq + config_steal_kvm + STEAL_KVM_VERSION)) {
		*ns = kernel_word(rq + config_steal_kvm);
		return 1;
	}
	return config_steal_account &&
	       !bpf_probe_read_kernel(ns, sizeof(*ns), rq + config_steal_account);
}

/* Of the CPU the task runs or waits on. */
static __always_inline void *run_queue(struct task_struct *task)
{
	return (void *)(u64)task_queue(task)->rq;
}

/* A thread begins to run or to wait on the CPU of this run queue. */
static __always_inline void steal_begins(struct sched_state *s, void *rq, u64 now)
{
	s->steal_known = steal_clock(rq, &s->steal_seen);
	s->steal_at = now;
}

/* Stolen time since steal_begins or the last call, on the same CPU. Never more than the time that
 * passed: any excess was stolen before that, and is returned by the next call. */
static __always_inline u64 steal_since(struct sched_state *s, void *rq, u64 now)
{
	u64 ns, clock, most = now - s->steal_at;

	if (!s->steal_known)
		return 0;
	s->steal_known = steal_clock(rq, &clock);
	ns = clock - s->steal_seen;
	if ((s64)ns < 0 || !s->steal_known || now < s->steal_at)
		return 0;
	if (ns > most)
		ns = most;
	s->steal_seen += ns;
	s->steal_at = now;
	return ns;
}

/* A shorter interval is not checked, being too short for a hypervisor to have run anything; time
 * stolen from it is counted in the next one. Reading the counter would cost a short call 5 %. */
#define STEAL_LEAST_NS 2000

/* A running thread reaches the end of a stretch, with ncalls calls open in it. */
static __always_inline void steal_tell(struct task_struct *task, struct task_state *st, u32 cpu,
				       u32 ncalls, u64 least, u64 now)
{
	struct sched_state *s = &st->sched;
	struct wire_stolen *w;
	u64 ns;

	if (config_steal_none)
		return;
	if (!s->steal_known || s->cpu_run != cpu) {
		s->cpu_run = cpu;
		steal_begins(s, run_queue(task), now);
		return;
	}
	if (now - s->steal_at < least) {
		s->steal_at = now;
		return;
	}
	ns = steal_since(s, run_queue(task), now);
	if (!ns)
		return;
	if (!task_announce(task, st))
		goto lost;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_STOLEN;
	w->depth = ncalls;
	w->cpu = cpu;
	w->tid = task->pid;
	w->end_ns = now;
	w->dur_ns = ns;
	w->lost = lost_total;
	w->pad = 0;
	bpf_ringbuf_submit(w, ring_flags());
	return;
lost:
	count_loss(SOURCE_SCHED, WIRE_LOST_RING);
}

#endif
