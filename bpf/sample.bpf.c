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

#define SOURCE_CPU 18

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
	stack = stack_of_interrupted(ctx, task, st);
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		goto lost;
	w->kind = WIRE_SAMPLE;
	w->depth = calls_attached(st);
	w->in_kernel = REGS_IN_KERNEL(&ctx->regs);
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
