// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who is waking: the current task, or an interrupt on top of it, and whether that interrupt is a
 * timer. The kernel's own marks, all per CPU and none exported: the preempt count, the timer
 * callbacks in progress. They are reached from the CPU's run queue, which every task points to, by
 * the distances between the variables in the per-CPU section as the kernel's type information has
 * them. Enum values are those of event/op.h.
 */
#ifndef INGERO_BPF_WAKER_H
#define INGERO_BPF_WAKER_H

#include "bpf/maps.h"
#include "bpf/ready.h"

#define FLAG_KERNEL_THREAD 0x200000 /* PF_KTHREAD */

enum { WAKER_NONE, WAKER_TASK, WAKER_HARDIRQ, WAKER_SOFTIRQ, WAKER_TIMER, WAKER_SELF };

/* Bytes from the run queue; 0: not known on this kernel. */
__weak const volatile __s64 config_preempt_count = 0;
__weak const volatile __s64 config_hrtimer_bases = 0;
__weak const volatile __s64 config_timer_bases = 0;
__weak const volatile __u32 config_timer_bases_size = 0;

#define HARDIRQ_BITS	0xff0000 /* and NMI */
#define SOFTIRQ_SERVING 0x100

static __always_inline bool hrtimer_running(void *rq, u32 from)
{
	void *base = rq + config_hrtimer_bases +
		     bpf_core_field_offset(struct hrtimer_cpu_base, clock_base) +
		     bpf_core_field_offset(struct hrtimer_clock_base, running);
	u32 i;

	if (!config_hrtimer_bases)
		return 0;
	for (i = from; i < from + 4; i++) {
		if (kernel_word(base + i * bpf_core_type_size(struct hrtimer_clock_base)))
			return 1;
	}
	return 0;
}

static __always_inline bool timer_running(void *rq)
{
	void *base =
		rq + config_timer_bases + bpf_core_field_offset(struct timer_base, running_timer);
	u32 size = bpf_core_type_size(struct timer_base), i;

	if (!config_timer_bases)
		return 0;
	for (i = 0; i < 3; i++) {
		if ((i + 1) * size > config_timer_bases_size)
			break;
		if (kernel_word(base + i * size))
			return 1;
	}
	return 0;
}

/* enum event_waker, less WAKER_SELF. WAKER_NONE: this kernel does not say. */
static __always_inline u32 waker_context(struct task_struct *current)
{
	void *rq = (void *)(u64)task_queue(current)->rq;
	u32 count = 0;

#if defined(__TARGET_ARCH_arm64)
	count = BPF_CORE_READ(current, thread_info.preempt_count);
#else
	if (config_preempt_count)
		count = kernel_word(rq + config_preempt_count);
	else
		return current->pid ? WAKER_NONE
				    : WAKER_HARDIRQ; /* the idle task wakes nobody by itself */
#endif
	/* The four hard interrupt clocks come before the four soft ones. */
	if (count & HARDIRQ_BITS)
		return hrtimer_running(rq, 0) ? WAKER_TIMER : WAKER_HARDIRQ;
	if (count & SOFTIRQ_SERVING)
		return timer_running(rq) || hrtimer_running(rq, 4) ? WAKER_TIMER : WAKER_SOFTIRQ;
	return WAKER_TASK;
}

/* Whether the current task is in a call on a socket. What one process of this machine sends to
 * another is received in a soft interrupt on top of the sender; a thread that computes, or is in
 * any other call, was only interrupted. A function of its own, which the verifier checks once:
 * without kernel functions, which old kernels have to be rid of (lib/attach/session_kfunc.c). */
__weak __noinline u32 current_on_socket(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs;
	struct file *file;

	if (!task->pid || task->flags & FLAG_KERNEL_THREAD)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!regs || call_class(SYSCALL_NUMBER(regs)) != CALL_FD)
		return 0;
	file = (void *)file_of(task, SYSCALL_ARG0(regs));
	return file && (BPF_CORE_READ(file, f_inode, i_mode) & MODE_TYPE) == MODE_SOCKET;
}

#endif
