// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Maps and settings shared by all programs, and the few functions on them that every file needs: is
 * this task a target, its state, announcing it, counting a loss. Weak: each .bpf.c carries the
 * definitions and the linker keeps one.
 */
#ifndef INGERO_BPF_MAPS_H
#define INGERO_BPF_MAPS_H

#include "bpf/mix.h"
#include "bpf/task.h"
#include "bpf/unwind_rule.h"

/* Settings, written before loading; the verifier sees constants and removes disabled code. */
__weak const volatile __u32 config_scope =
	0; /* enum scope: who besides the listed processes is a target */
__weak const volatile __u32 config_uid = 0;    /* SCOPE_USER */
__weak const volatile __u32 config_self = 0;   /* the recorder, never a target */
__weak const volatile __u32 config_walker = 0; /* enum walker */
__weak const volatile __u32 config_unwind = 0; /* stacks are walked by tables, see unwind.h */
__weak const volatile __u32 config_sched = 0;  /* sched.bpf.c is loaded */
__weak const volatile __u32 config_cpu_words =
	0; /* of 64 CPUs, in a mask of the possible ones; 0: too many, masks are not told */
__weak const volatile __u64 config_wake = 0; /* wake the reader when this much is waiting */

/* By tier: its probes are to be ignored (tier_off); how often that was set (tier_epoch).
 * tiers_epoch: of all tiers together, for checks of links. */
__weak __u32 tier_off[SPEC_TIERS] SEC(".bss");
/* When the first call was ignored since then; 0: none was. The recorder may lose its CPU between
 * setting tier_off and reading a clock. */
__weak __u64 tier_dropped_ns[SPEC_TIERS] SEC(".bss");
__weak __u32 tier_epoch[SPEC_TIERS] SEC(".bss");
__weak __u64 tiers_epoch SEC(".bss");

__weak __u32 lost_total SEC(".bss");   /* any event, any reason, wraps */
__weak __u32 stack_number SEC(".bss"); /* last one given */

__weak struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} ring SEC(".maps");

__weak struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} life SEC(".maps");

__weak struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct target);
} targets SEC(".maps");

__weak struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512); /* possible CPUs, set before loading */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct loss_slot);
} losses SEC(".maps");

/* Processes whose stacks are walked by tables: slot by tgid, what stands there, and the slots that
 * are free. Here because the loader's hook and an exec change what is mapped, and a child has its
 * parent's list from its first instruction on. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, UNWIND_PROCESSES);
	__type(key, u32);
	__type(value, u32);
} unwind_slots SEC(".maps");

__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_PROCESSES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

__weak struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, UNWIND_PROCESSES);
	__type(value, u32);
} unwind_free SEC(".maps");

/* NULL: its stacks are not walked by tables. */
static __always_inline volatile struct unwind_process *unwind_process_by(u32 tgid)
{
	struct unwind_process *p;
	u32 *slot;

	if (!config_unwind)
		return 0;
	slot = bpf_map_lookup_elem(&unwind_slots, &tgid);
	if (!slot)
		return 0;
	p = bpf_map_lookup_elem(&unwind_processes, slot);
	return p && p->tgid == tgid ? p : 0;
}

enum unwind_change {
	UNWIND_ADDS,
	UNWIND_REMOVES,
	UNWIND_EXECUTES, /* it is another program from here on */
};

/* What is mapped in the process changes. */
static __always_inline void unwind_changed(u32 tgid, enum unwind_change how)
{
	volatile struct unwind_process *p = unwind_process_by(tgid);

	if (!p)
		return;
	if (how != UNWIND_ADDS)
		__sync_fetch_and_add(&p->removals, 1);
	__sync_fetch_and_add(&p->changes, 1);
	if (how == UNWIND_EXECUTES)
		p->list = 0;
}

/* The child maps what its parent maps. As long as that changes, nothing is sure of the child
 * either. */
static __always_inline void unwind_forked(u32 tgid, u32 child)
{
	volatile struct unwind_process *p = unwind_process_by(tgid), *of;
	u32 slot;

	if (!p || bpf_map_pop_elem(&unwind_free, &slot))
		return;
	of = bpf_map_lookup_elem(&unwind_processes, &slot);
	if (!of || bpf_map_update_elem(&unwind_slots, &child, &slot, BPF_ANY)) {
		bpf_map_push_elem(&unwind_free, &slot, 0);
		return;
	}
	/* The recorder writes the list before it says for which change it holds. */
	of->looked = p->looked;
	of->kept = p->kept;
	of->list = p->list;
	of->removals = p->removals;
	of->changes = p->changes;
	of->ended = 0;
	of->tgid = child;
}

/* Its slot is the recorder's, who knows when nobody walks by it any more. */
static __always_inline void unwind_ended(u32 tgid)
{
	volatile struct unwind_process *p = unwind_process_by(tgid);

	if (p)
		p->ended = 1;
	if (config_unwind)
		bpf_map_delete_elem(&unwind_slots, &tgid);
}

/* Its tier's probes have been detached since it was entered: its return is not seen. */
static __always_inline bool call_detached(const struct call_open *call)
{
	return call->epoch != tier_epoch[call->tier & (SPEC_TIERS - 1)];
}

/* Open calls of the thread, less the innermost ones that are detached. */
static __always_inline u32 calls_attached(const struct task_state *st)
{
	u32 n = st->ncalls, k;

	for (k = 0; k < CALLS_OPEN_MAX; k++) {
		if (n == 0 || n > CALLS_OPEN_MAX ||
		    !call_detached(&st->open[(n - 1) & (CALLS_OPEN_MAX - 1)]))
			break;
		n--;
	}
	return n;
}

/* A function of its own that the verifier checks once: every way through a program has places where
 * it may be lost. */
__weak __noinline int count_loss(u32 source, u32 reason)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct loss_slot *slot = bpf_map_lookup_elem(&losses, &cpu);

	/* Atomic: a preempted thread may be in the middle of the same slot. */
	if (slot && source < LOSS_SOURCES && reason < LOSS_REASONS)
		__sync_fetch_and_add(&slot->n[source][reason], 1);
	if (source)
		__sync_fetch_and_add(&lost_total, 1);
	return 0;
}

/* Something that events are said by did not fit the ring: enum wire_untold. */
static __always_inline void count_untold(u32 what)
{
	count_loss(0, what);
}

static __always_inline u64 ring_flags(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= config_wake ? BPF_RB_FORCE_WAKEUP
									  : BPF_RB_NO_WAKEUP;
}

/* A thread looks how full the ring is once in that many events: it costs as much as the record. */
#define RING_LOOK 16

/* Linux 6.2: from here on the verifier takes this pointer for one to a kernel struct, and loads
 * through it are plain loads; a helper call costs several times as much. One file only may name it,
 * or libbpf 1.1 cannot link them: that of the scheduler, which defines KERNEL_LOADS. */
extern void *bpf_rdonly_cast(const void *obj, u32 type) __ksym __weak;

/* A word of the kernel's, wherever it is; 0 where nothing is. Any struct that begins with one
 * stands in for it. */
static __always_inline u64 kernel_word(void *at)
{
	u64 v = 0;

#if defined(KERNEL_LOADS)
	if (bpf_rdonly_cast) {
		struct timespec64 *t =
			bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct timespec64));

		return t->tv_sec;
	}
#endif
	bpf_probe_read_kernel(&v, sizeof(v), at);
	return v;
}

/* The task to load pointers through. A load of a pointer through a task that the verifier trusts
 * makes it look in all the kernel's types, four times over, whether it may trust that one as
 * well: 1.3 ms each, hundreds of times in a program of many ways. Nothing here needs that trust. */
static __always_inline struct task_struct *untrusted(struct task_struct *task)
{
#if defined(KERNEL_LOADS)
	if (bpf_rdonly_cast)
		return bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
#endif
	return task;
}

/* The run queue of its group that the task is on. */
static __always_inline struct cfs_rq *task_queue(struct task_struct *task)
{
	return untrusted(task)->se.cfs_rq;
}

/* Where a thread's state stands: in the slot of its number if that was free when it was made, else
 * in task storage, which takes a call of the kernel to find, twice in each traced call and four
 * times in each switch. A slot is its thread's as long as number and birth are; it is given up when
 * the thread has died, and one that is not costs that slot only. */
#define SLOTS 1024 /* a power of two */

__weak __u32 slot_tid[SLOTS] SEC(".bss"); /* whose; 0 nobody's; with SLOT_MADE not ready yet */
#define SLOT_MADE 0x80000000

__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, u32);
	__type(value, struct task_state);
} slots SEC(".maps");

__weak __u32 stored SEC(".bss"); /* a state has been made in task storage */

/* What a state is when it begins. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct task_state);
} fresh SEC(".maps");

/* The state of a thread that is followed, else NULL. */
static __always_inline struct task_state *task_state_of(struct task_struct *task)
{
	u32 tid = task->pid, at = tid & (SLOTS - 1), key = at;

	/* What runs when nothing does has the number that says that a slot is free. */
	if (tid && slot_tid[at] == tid) {
		struct task_state *st = bpf_map_lookup_elem(&slots, &key);

		if (st && st->born_ns == task->start_boottime)
			return st;
	}
	if (!stored)
		return 0;
	return bpf_task_storage_get(&tasks, task, 0, 0);
}

/* NULL: the slot is another thread's. */
static __always_inline struct task_state *slot_take(struct task_struct *task)
{
	u32 tid = task->pid, at = tid & (SLOTS - 1), key = at, zero = 0, was = slot_tid[at];
	struct task_state *begin = bpf_map_lookup_elem(&fresh, &zero), *st;

	/* Its own number with another birth: a thread of that number has died unseen. */
	if (!begin || !tid || (was && was != tid) ||
	    __sync_val_compare_and_swap(&slot_tid[at], was, tid | SLOT_MADE) != was)
		return 0;
	bpf_map_update_elem(&slots, &key, begin, BPF_ANY);
	st = bpf_map_lookup_elem(&slots, &key);
	if (st)
		st->born_ns = task->start_boottime;
	__sync_lock_test_and_set(&slot_tid[at], st ? tid : 0);
	return st;
}

/* The thread will not be seen any more. */
static __always_inline void task_state_end(struct task_struct *task)
{
	u32 tid = task->pid, at = tid & (SLOTS - 1);

	__sync_val_compare_and_swap(&slot_tid[at], tid, 0);
}

/* The state of a target thread, made on first use. NULL: no memory. Only for tasks known to be
 * targets. */
static __always_inline struct task_state *task_state_make(struct task_struct *task)
{
	struct task_state *st = task_state_of(task);

	if (st)
		return st;
	/* Somebody makes it at this moment: there must not be two. */
	if (slot_tid[task->pid & (SLOTS - 1)] == (task->pid | SLOT_MADE))
		return 0;
	st = slot_take(task);
	if (!st) {
		stored = 1;
		st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	}
	if (st && !st->seed) {
		u32 tgid = task->tgid;
		struct target *t = bpf_map_lookup_elem(&targets, &tgid);

		st->seed = mix(mix(1, BPF_CORE_READ(task, group_leader, start_boottime)),
			       (u64)tgid << 32 | (t ? t->execs : 0)) |
			   1;
	}
	return st;
}

/* A task's number in its own pid namespace. */
static __always_inline u32 task_inner_id(struct pid *pid)
{
	struct upid *numbers, *inner;

	if (!pid)
		return 0;
	numbers = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	inner = (void *)numbers + BPF_CORE_READ(pid, level) * bpf_core_type_size(struct upid);
	return BPF_CORE_READ(inner, nr);
}

#define ROOT_CGROUP 1	/* id of the root of each hierarchy */
#define NICE_0	    120 /* static_prio of a thread at nice 0 */

/* With what priority the scheduler runs it, and within which group that counts. */
static __always_inline void task_priority(struct wire_thread *w, struct task_struct *task)
{
	struct task_group *group;
	struct autogroup *autogroup = 0;

	w->policy = BPF_CORE_READ(task, policy);
	w->nice = BPF_CORE_READ(task, static_prio) - NICE_0;
	w->autogroup_nice = 0;
	w->autogroup = 0;
	w->cpu_cgroup = ROOT_CGROUP;
	if (!bpf_core_field_exists(task->sched_task_group))
		return; /* a kernel without groups */
	group = BPF_CORE_READ(task, sched_task_group);
	if (bpf_core_field_exists(group->autogroup))
		autogroup = BPF_CORE_READ(group, autogroup);
	if (autogroup) {
		w->autogroup = BPF_CORE_READ(autogroup, id);
		w->autogroup_nice = BPF_CORE_READ(autogroup, nice);
	}
	w->cpu_cgroup = autogroup ? 0 : BPF_CORE_READ(group, css.cgroup, kn, id);
}

/* Everything about a thread that its records are read with. */
static __always_inline void task_identity(struct wire_thread *w, struct task_struct *task)
{
	u32 tgid = BPF_CORE_READ(task, tgid);
	struct target *t = bpf_map_lookup_elem(&targets, &tgid);

	w->kind = WIRE_THREAD;
	task_priority(w, task);
	w->tid = BPF_CORE_READ(task, pid);
	w->tgid = tgid;
	w->parent = BPF_CORE_READ(task, real_parent, tgid);
	w->uid = BPF_CORE_READ(task, cred, uid.val);
	w->execs = t ? t->execs : 0;
	w->lost = lost_total;
	w->start_ns = BPF_CORE_READ(task, start_boottime);
	w->tgid_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	w->cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	w->ns_tgid = task_inner_id(BPF_CORE_READ(task, group_leader, thread_pid));
	if (bpf_core_read_str(w->comm, sizeof(w->comm), &task->comm) < 0)
		w->comm[0] = 0;
}

/* Sends it; 0: the ring is full. A function of its own, and of an address that the verifier knows
 * nothing of: it checks it once, not on every way that leads here. */
__weak __noinline int thread_send(u64 address, u32 kind)
{
	struct wire_thread *w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);

	if (!w)
		return 0;
	task_identity(w, (struct task_struct *)address);
	w->kind = kind;
	bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
	return 1;
}

/* Tell the recorder who this thread is, once per thread and exec. False: the ring is full, so
 * nothing that names the thread may be sent. */
static __always_inline bool task_announce(struct task_struct *task, struct task_state *st)
{
	if (st->flags & TASK_ANNOUNCED)
		return 1;
	/* By way of memory: what is read back is a number to the verifier, as an argument has to
	 * be. */
	*(volatile u64 *)&st->address = (u64)task;
	if (!thread_send(*(volatile u64 *)&st->address, WIRE_THREAD))
		return 0;
	st->flags |= TASK_ANNOUNCED;
	return 1;
}

/* A record of the life ring about this task, to be filled further and submitted. NULL: full, and
 * counted. */
static __always_inline struct wire_life *life_begin(u8 kind, struct task_struct *task)
{
	struct wire_life *w = bpf_ringbuf_reserve(&life, sizeof(*w), 0);

	if (!w) {
		count_loss(3, WIRE_LOST_RING);
		return 0;
	}
	w->kind = kind;
	w->stopped = 0;
	w->process = 0;
	w->known = 0;
	w->child = 0;
	w->child_tgid = 0;
	w->status = 0;
	w->child_start_ns = 0;
	__builtin_memset(w->name, 0, sizeof(w->name));
	w->time_ns = bpf_ktime_get_ns();
	task_identity(&w->who, task);
	return w;
}

#endif
