// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Threads of other processes that release targets: a server that answers, a daemon that hands out
 * work. One that has woken targets OUTSIDE_RELEASES times is followed with its off-CPU intervals
 * until it has woken none for OUTSIDE_REST_NS, so that a wait for it can be explained by its own
 * waits. It gets no task state: nothing else is recorded of it, and it is announced as an occupant
 * is, not as a target. The table is small and preallocated: a thread has one slot by its number,
 * and a later thread of the same slot is not followed. Invariant: outsider_tid holds the numbers of
 * those that are followed, and nothing else.
 */
#ifndef INGERO_BPF_OUTSIDE_H
#define INGERO_BPF_OUTSIDE_H

#include "bpf/asleep.h"
#include "bpf/waited.h"
#include "bpf/waker.h"

#define OUTSIDERS	 256		/* a power of two */
#define OUTSIDE_RELEASES 3		/* one or two wake-ups are chance: a shell, a tool */
#define OUTSIDE_COUNT_NS 1000000000ull	/* how long a thread not yet followed keeps its slot */
#define OUTSIDE_REST_NS	 30000000000ull /* and a followed one after its last release */
#define OUTSIDE_LEAST_NS 10000ull	/* shorter intervals are not sent: they explain nothing */

struct outsider {
	u32 tid;
	u32 releases; /* up to OUTSIDE_RELEASES */
	u64 born_ns;
	u64 released_ns; /* its last release */
	struct sched_state sched;
	struct host_state host; /* as object_of_sleep() wants it */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OUTSIDERS);
	__type(key, u32);
	__type(value, struct outsider);
} outsiders SEC(".maps");

__u32 outsider_tid[OUTSIDERS] SEC(".bss"); /* who is followed, by its place; 0 nobody */

/* Whether a thread of this number is: costs a load, and is asked of every thread that comes and
 * goes. */
static __always_inline bool outsider_number(struct task_struct *task)
{
	u32 tid = task->pid;

	return tid && outsider_tid[tid & (OUTSIDERS - 1)] == tid;
}

/* NULL: it is not followed. */
static __always_inline struct outsider *outsider_of(struct task_struct *task)
{
	u32 at = task->pid & (OUTSIDERS - 1);
	struct outsider *o;

	if (!outsider_number(task))
		return 0;
	o = bpf_map_lookup_elem(&outsiders, &at);
	return o && o->tid == task->pid && o->born_ns == task->start_boottime ? o : 0;
}

/* Whoever has this place is followed, or, with 0, is not. */
static __always_inline void outsider_mark(u32 at, u32 tid)
{
	/* A place that was kept on the stack is any number to the verifier. */
	__asm__ volatile("" : "+r"(at));
	outsider_tid[at & (OUTSIDERS - 1)] = tid;
}

static __always_inline void outsider_forget(struct outsider *o)
{
	outsider_mark(o->tid, 0);
	o->releases = 0;
	o->sched.out_ns = 0;
}

/* The current task, which is no target, wakes one. */
static __always_inline void outsider_releases(struct task_struct *task, u64 now)
{
	u32 tid = task->pid, tgid = task->tgid, at = tid & (OUTSIDERS - 1), was;
	struct outsider *o = bpf_map_lookup_elem(&outsiders, &at);

	if (!o || !tid || tgid == config_self || task->flags & FLAG_KERNEL_THREAD)
		return;
	was = o->tid;
	if (was != tid || o->born_ns != task->start_boottime) {
		if (was &&
		    now - o->released_ns <
			    (o->releases < OUTSIDE_RELEASES ? OUTSIDE_COUNT_NS : OUTSIDE_REST_NS))
			return;
		if (bpf_map_lookup_elem(&targets, &tgid)) /* its state could not be made */
			return;
		if (__sync_val_compare_and_swap(&o->tid, was, tid) != was)
			return;
		outsider_forget(o);
		o->sched.waking_ns = 0;
		o->born_ns = task->start_boottime;
	}
	o->released_ns = now;
	if (o->releases < OUTSIDE_RELEASES && ++o->releases == OUTSIDE_RELEASES)
		outsider_mark(at, tid);
}

/* Its interval ends. */
static __always_inline void outsider_end(struct outsider *o, struct task_struct *task, u32 cpu,
					 u64 now)
{
	struct sched_state *s = &o->sched;
	u64 out = s->out_ns, own, wait = waited(task, s, now, s->waking_ns, &own);
	struct wire_offcpu *w;

	s->out_ns = 0;
	if (now - out < OUTSIDE_LEAST_NS)
		goto told;
	if (!announce(address_of(task), task->pid, 0))
		goto lost;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	__builtin_memset(w, 0, sizeof(*w));
	w->kind = WIRE_OFFCPU;
	w->flags = s->flags | OFFCPU_OUTSIDE;
	w->tid = task->pid;
	w->end_ns = now;
	w->dur_ns = now - out;
	w->wait_ns = wait;
	if (!s->preempted) {
		w->waker_kind = s->waker_kind;
		w->waker = s->waker;
		if (waking_lead(s->waking_ns, out, now - wait, &w->waking_ns))
			w->flags |= OFFCPU_WAKING;
	}
	w->lost = lost_total;
	w->cpu_in = cpu;
	describe_sleep(w, s);
	bpf_ringbuf_submit(w, ring_flags());
	goto told;
lost:
	count_loss(SOURCE_SCHED, WIRE_LOST_RING);
told:
	s->waker_kind = WAKER_NONE;
	s->waking_ns = 0;
}

/* A thread outside is given a CPU. */
static __always_inline void outsider_came(struct task_struct *task, u32 cpu, u64 now)
{
	struct outsider *o = outsider_of(task);

	if (o && o->sched.out_ns)
		outsider_end(o, task, cpu, now);
}

/* It leaves a CPU that it was not seen to get (occupancy.h). */
static __always_inline void outsider_came_unseen(struct outsider *o, struct task_struct *task,
						 u32 cpu, u64 now)
{
	u64 came = arrived(task, now);

	outsider_end(o, task, cpu, came < o->sched.out_ns ? o->sched.out_ns : came);
}

/* The current task, a thread outside, leaves its CPU. Verified once, as switched_out is. */
__noinline int outsider_left(u32 cpu, u32 preempt, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct outsider *o = outsider_of(task);
	u32 state = task->__state;
	struct sched_state *s;
	struct pt_regs *regs;

	if (!o)
		return 0;
	if (o->sched.out_ns)
		outsider_came_unseen(o, task, cpu, now);
	if (state & STATE_DEAD || now - o->released_ns > OUTSIDE_REST_NS) {
		outsider_forget(o);
		return 0;
	}
	s = &o->sched;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	s->syscall = regs ? SYSCALL_NUMBER(regs) : -1;
	s->flags = 0;
	s->cpu_out = cpu;
	s->object_kind = OBJECT_NONE;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		s->run_delay = task->sched_info.run_delay;
	s->preempted = preempt || state == 0;
	s->ready_ns = s->preempted ? now : 0;
	if (!s->preempted && regs)
		object_of_sleep(s, task, &o->host, regs, state, 1);
	s->out_ns = now;
	return 0;
}

#endif
