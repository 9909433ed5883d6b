// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Threads that sleep when recording begins, or when a file ends: no event shows them leave their
 * CPU, or come back. What they wait for is read from their current system call; a run that hangs
 * has only such threads. Run by the recorder over all tasks.
 */
#ifndef INGERO_BPF_ASLEEP_H
#define INGERO_BPF_ASLEEP_H

#include "bpf/file.h"
#include "bpf/object.h"
#include "bpf/occupancy.h"

/* It has left its CPU completely; while it is being switched out, the scheduler's tracepoint
 * records its state. */
static __always_inline bool is_asleep(struct task_struct *task)
{
	bool queued = task->on_rq;

	if (queued && bpf_core_field_exists(task->se.sched_delayed))
		queued = !task->se.sched_delayed;
	return task->__state && !(task->__state & STATE_DEAD) && !queued && !task->on_cpu;
}

/* A number for its stack, which is not the current task's and so not read here; 0: no room. */
static __always_inline u32 asleep_stack(struct task_struct *task, struct task_state *st,
					struct pt_regs *regs)
{
	struct wire_asleep *w;
	u32 stack;

	if (!regs || !bpf_core_field_exists(task->sched_info.pcount))
		return 0;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w) {
		count_untold(WIRE_UNTOLD_STACK);
		return 0;
	}
	stack = __sync_fetch_and_add(&stack_number, 1) + 1;
	w->kind = WIRE_ASLEEP;
	w->pad[0] = w->pad[1] = w->pad[2] = 0;
	w->tid = task->pid;
	w->tgid = task->tgid;
	w->inner = task_inner_id(BPF_CORE_READ(task, thread_pid));
	w->stack = stack;
	w->pad2 = 0;
	w->ip = REGS_IP(regs);
	w->sp = REGS_SP(regs);
	w->fp = REGS_FP(regs);
#if defined(__TARGET_ARCH_x86)
	w->pointer = task->thread.fsbase;
#else
	w->pointer = 0;
#endif
	w->slices = task->sched_info.pcount;
	bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
	return stack;
}

/* Followed from now on, and asleep already. */
static __always_inline void asleep_begin(struct task_struct *task, struct task_state *st, u32 cpu,
					 u64 now)
{
	struct sched_state *s = &st->sched;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	s->syscall = regs ? SYSCALL_NUMBER(regs) : -1;
	s->flags = 0;
	s->cpu_out = s->cpu_at = cpu;
	s->depth = 0;
	s->throttled_ns = s->stolen_ns = 0;
	s->throttled = s->steal_known = 0;
	s->number = 0;
	s->stack = asleep_stack(task, st, regs);
	s->ready_ns = 0;
	s->preempted = 0;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		s->run_delay = task->sched_info.run_delay;
	s->object_kind = OBJECT_NONE;
	if (regs)
		object_of_sleep(s, task, &st->host, regs, task->__state, 0);
	s->out_ns = now;
}

/* What a sleep is on, as it crosses. */
static __always_inline void describe_sleep(struct wire_offcpu *w, const struct sched_state *s)
{
	w->object_kind = s->object_kind;
	w->object = s->object;
	w->stack = s->stack;
	w->futex_val = s->futex_val;
	w->syscall = s->syscall;
	w->cpu_out = s->cpu_out;
	w->futex_op = s->futex_op;
	w->depth = s->depth;
	w->number = s->number & ~NUMBER_SOCKET;
}

/* Prints the wait up to now of a thread that still sleeps, and its identity if it was not announced
 * yet (announce_as 0: it was). flags: enum offcpu_flag. Changes no state. */
static __always_inline void asleep_print(struct seq_file *seq, struct task_struct *task,
					 struct sched_state *s, u32 announce_as, u32 flags, u64 now)
{
	u64 out = *(volatile u64 *)&s->out_ns;
	struct wire_still w = {};

	if (!out || out >= now)
		return;
	if (announce_as)
		task_identity(&w.who, task);
	w.who.kind = announce_as;
	w.wait.kind = WIRE_OFFCPU;
	w.wait.flags =
		s->flags | flags | OFFCPU_UNENDED | (s->number & NUMBER_SOCKET ? OFFCPU_SOCKET : 0);
	w.wait.tid = task->pid;
	w.wait.end_ns = now;
	w.wait.dur_ns = now - out;
	describe_sleep(&w.wait, s);
	/* Woken meanwhile: what was read may be of two sleeps. */
	if (*(volatile u64 *)&s->out_ns == out && !s->ready_ns)
		bpf_seq_write(seq, &w, sizeof(w));
}

#endif
