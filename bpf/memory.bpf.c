// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What memory costs a followed thread itself: direct reclaim (for the machine or for its cgroup),
 * compaction, faults that had to wait for pages to be read. One event each, at its end. Its stack
 * shows why the thread needed the memory; it is walked only if getting the memory took longer than
 * walking it takes.
 */
#include "bpf/fault.h"
#include "bpf/file.h"
#include "bpf/stack.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct vm_area_struct {
	struct file *vm_file;
};
#pragma clang attribute pop

#define STACK_NS 5000 /* about what walking the stack of a Python program takes */

/* Within a call, the call's own stack is enough. */
static __always_inline u32 stack_of_memory(struct task_struct *task, struct task_state *st, u64 ns)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (config_walker == WALKER_NONE || st->ncalls || ns < STACK_NS || !regs)
		return 0;
	return stack_number_of(&st->walk, REGS_IP(regs), REGS_SP(regs), REGS_FP(regs),
			       REGS_LINK(regs), st, ROOM_HAVE, REGS_INTERRUPTED(regs));
}

static __always_inline void send_memory_event(struct task_struct *task, struct task_state *st,
					      u8 kind, u64 start, u64 got, s32 order)
{
	u64 now = bpf_ktime_get_ns();
	u32 stack = stack_of_memory(task, st, now - start);
	struct wire_host *w;

	if (!task_announce(task, st)) {
		count_loss(SOURCE_HOST, WIRE_LOST_RING);
		return;
	}
	w = host_record(kind, SOURCE_HOST, task->pid, start, now);
	if (!w)
		return;
	w->depth = st->ncalls;
	w->x[3] = stack;
	if (kind == WIRE_RECLAIM) {
		w->x[0] = got;
		w->present = 1;
		if (order >= 0) {
			w->x[1] = order;
			w->present = 3;
		}
	}
	bpf_ringbuf_submit(w, ring_flags());
}

static __always_inline int reclaim_begins(s32 order)
{
	struct task_state *st = task_state_of(bpf_get_current_task_btf());

	if (st) {
		st->host.reclaim_ns = bpf_ktime_get_ns();
		st->host.compact_ns = 0;
		st->host.order = order;
	}
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int host_memory_reclaim_begin(u64 *ctx)
{
	return reclaim_begins((s32)ctx[0]);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int host_memory_group_begin(u64 *ctx)
{
	return reclaim_begins(-1);
}

SEC("tp_btf/mm_compaction_begin")
int host_memory_compact_begin(u64 *ctx)
{
	struct task_state *st = task_state_of(bpf_get_current_task_btf());

	if (st) {
		st->host.compact_ns = bpf_ktime_get_ns();
		st->host.reclaim_ns = 0;
	}
	return 0;
}

/* On the ends of all three: raw, so that it is verified once. Memory is reclaimed or compacted, one
 * of them at a time: neither allocates what would begin the other. */
SEC("raw_tp")
int host_memory_end(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = task_state_of(task);
	u64 reclaim, compact;

	if (!st)
		return 0;
	reclaim = st->host.reclaim_ns;
	compact = st->host.compact_ns;
	st->host.reclaim_ns = 0;
	st->host.compact_ns = 0;
	if (reclaim)
		send_memory_event(task, st, WIRE_RECLAIM, reclaim, ctx->args[0], st->host.order);
	else if (compact)
		send_memory_event(task, st, WIRE_COMPACT, compact, 0, -1);
	return 0;
}

struct fault_at {
	u64 file;
};

static long file_at(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	struct fault_at *at = ctx;

	at->file = (u64)BPF_CORE_READ(vma, vm_file);
	return 0;
}

/* Once per major fault, when it is over: the kernel's own software event, so that all other faults
 * cost nothing. Its duration is counted from the thread's first sleep in it. */
SEC("perf_event")
int host_fault_major(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = task_state_of(task);
	u64 address = ctx->addr, now = bpf_ktime_get_ns(), start;
	struct fault_at at = { 0 };
	struct wire_host *w;
	u32 number = 0;

	if (!st)
		return 0;
	start = fault_began(task, &st->host, REGS_IP(&ctx->regs), now);
	if (!task_announce(task, st)) {
		count_loss(SOURCE_HOST, WIRE_LOST_RING);
		return 0;
	}
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma) &&
	    bpf_find_vma(task, address, file_at, &at, 0) == 0 && at.file)
		number = number_of_file(at.file);
	w = host_record(WIRE_FAULT, SOURCE_HOST, task->pid, start, now);
	if (!w)
		return 0;
	w->depth = st->ncalls;
	w->number = number;
	w->x[0] = address;
	w->present = 1;
	bpf_ringbuf_submit(w, ring_flags());
	return 0;
}
