// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Samples which target's thread has the CPU, and where in its program it is, at a fixed rate per
 * CPU: the kernel's CPU clock calls us from its timer interrupt. The thread may be in the middle of
 * anything, of our own programs too, so their data is not touched, and the walk's buffer is the
 * CPU's. No memory is allocated: threads to be followed have their state (follow.bpf.c). Samples
 * are on by default, so a thread that is no target's costs two loads.
 */
#include "bpf/host.h"
#include "bpf/stack.h"
#include "bpf/syscalls.h"

#define SOURCE_CPU 18

#define STACK_BYTES 65536 /* a kernel stack at most, THREAD_SIZE: of arm64 with large pages */

/* Kernel code on the thread's own stack, where it is in no system call and at no breakpoint,
 * handles a fault of the thread's; interrupts have stacks of their own. */
static __always_inline u8 sample_mode(struct task_struct *task, struct pt_regs *now)
{
	struct pt_regs *entered = (struct pt_regs *)bpf_task_pt_regs(task);

	if (!REGS_IN_KERNEL(now))
		return SAMPLE_IN_PROGRAM;
	if (!entered || SYSCALL_NUMBER(entered) >= 0 || is_at_breakpoint(entered) ||
	    REGS_SP(now) - (u64)task->stack >= STACK_BYTES)
		return SAMPLE_IN_KERNEL;
	return SAMPLE_IN_FAULT;
}

SEC("perf_event")
int host_cpu_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = task_state_of(task);
	struct wire_sample *w;
	u32 stack;
	u64 now;

	if (!st)
		return 0;
	now = bpf_ktime_get_ns();
	if (!task_announce(task, st))
		goto lost;
	stack = stack_of_interrupted(task, st);
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_SAMPLE;
	w->depth = calls_attached(st);
	w->in_kernel = sample_mode(task, &ctx->regs);
	w->pad = 0;
	w->tid = task->pid;
	w->time_ns = now;
	w->stack = stack;
	w->lost = lost_total;
	w->cpu = bpf_get_smp_processor_id();
	w->pad2[0] = w->pad2[1] = w->pad2[2] = 0;
	bpf_ringbuf_submit(w, ring_flags());
	return 0;
lost:
	count_loss(SOURCE_CPU, WIRE_LOST_RING);
	return 0;
}
