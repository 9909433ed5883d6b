// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Births, execs, renames and deaths of targets. Children join the targets here, before they run
 * their first instruction. Life has its own ring: losing an exec to a burst of calls would mean
 * missing what comes after.
 */
#include "bpf/known.h"
#include "bpf/python.h"

/* Targets that have ended: the last of their threads to be done with is not the last to come here.
 * By birth, for the number is somebody else's soon. */
struct ended {
	u64 born_ns;
	u64 execs;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct ended);
} ended SEC(".maps");

static __always_inline struct target *target_of(u32 tgid)
{
	return bpf_map_lookup_elem(&targets, &tgid);
}

SEC("tp_btf/sched_process_fork")
int life_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
	struct target *t = target_of(tgid), copy = {};
	struct wire_life *w;

	if (!t || !(t->flags & TARGET_FOLLOW))
		return 0;
	copy.flags = t->flags;
	if (child_tgid != tgid) {
		struct python_process *python = bpf_map_lookup_elem(&pythons, &tgid);

		if (bpf_map_update_elem(&targets, &child_tgid, &copy, BPF_ANY))
			count_loss(3, WIRE_LOST_STATE);
		/* It goes on where its parent was, also in Python. */
		if (python)
			bpf_map_update_elem(&pythons, &child_tgid, python, BPF_ANY);
		else
			bpf_map_delete_elem(&pythons, &child_tgid);
		unwind_forked(tgid, child_tgid);
	}
	w = life_begin(WIRE_FORK, parent);
	if (!w)
		return 0;
	w->process = child_tgid != tgid;
	w->child = BPF_CORE_READ(child, pid);
	w->child_tgid = child_tgid;
	w->child_start_ns = BPF_CORE_READ(child, start_boottime);
	bpf_ringbuf_submit(w, w->process ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

static long start_file_at(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	struct file_number *n = ctx;
	struct file *file = BPF_CORE_READ(vma, vm_file);

	if (file)
		read_file_number(n, file);
	return 0;
}

/* Whether neither the program that begins nor its loader, where it has one, is to be probed: it
 * begins in one of the two. */
static __always_inline bool is_program_known(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct file_number program = {}, start = {};
	struct known_state *known;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma) || !regs)
		return 0;
	read_file_number(&program, BPF_CORE_READ(task, mm, exe_file));
	known = known_state_of(&program);
	if (!known || known->probed || !known->starts)
		return 0;
	if (bpf_find_vma(task, REGS_IP(regs), start_file_at, &start, 0))
		return 0;
	known = known_state_of(&start);
	return known && !known->probed && known->starts;
}

SEC("tp_btf/sched_process_exec")
int life_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tgid = BPF_CORE_READ(task, tgid);
	struct target *t = target_of(tgid);
	struct task_state *st;
	struct wire_life *w;

	if (!t)
		return 0;
	__sync_fetch_and_add(&t->execs, 1);
	t->library = 0;
	bpf_map_delete_elem(&pythons, &tgid);
	unwind_changed(tgid, UNWIND_EXECUTES);
	/* A thread that was not the first is the first from now on, by number and birth: it has a
	 * state to find. */
	st = task_state_make(bpf_get_current_task_btf());
	if (st) {
		st->flags &= ~TASK_ANNOUNCED;
		st->ncalls = 0;
		st->seed = mix(st->seed, t->execs) | 1;
	}
	w = life_begin(WIRE_EXEC, task);
	if (!w)
		return 0;
	w->known = (t->flags & TARGET_STOP) && is_program_known(bpf_get_current_task_btf());
	/* The signal before the message: whoever reads the message sends SIGCONT. */
	w->stopped = !w->known && (t->flags & TARGET_STOP) && bpf_send_signal(19) == 0;
	bpf_ringbuf_submit(w, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int life_exit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 tgid = BPF_CORE_READ(task, tgid), i, execs;
	struct target *t = target_of(tgid);
	struct ended end = { .born_ns = BPF_CORE_READ(task, group_leader, start_boottime) }, *known;
	struct task_state *st;
	struct wire_life *w;
	bool last;

	if (t) {
		end.execs = t->execs;
	} else {
		known = bpf_map_lookup_elem(&ended, &tgid);
		if (!known || known->born_ns != end.born_ns)
			return 0;
		end.execs = known->execs;
	}
	execs = end.execs;
	st = task_state_of(task);
	if (st) {
		for (i = 0; i < CALLS_OPEN_MAX; i++) {
			if (i >= st->ncalls)
				break;
			if (!call_detached(&st->open[i]))
				count_loss(st->open[i].op >> 8, WIRE_LOST_RETURN);
		}
		st->ncalls = 0;
	}
	last = t && BPF_CORE_READ(task, signal, live.counter) == 0;
	/* The scheduler's programs see the last of a thread, but number and birth of the first go
	 * to another that executes a program. */
	if (st && (!config_sched || (!last && task->pid == task->tgid)))
		task_state_end(task);
	/* Nothing between reserving and the one test of it: verifiers up to 6.1 do not know a
	 * tested record. */
	if (last) {
		bpf_map_update_elem(&ended, &tgid, &end, BPF_ANY);
		bpf_map_delete_elem(&targets, &tgid);
		bpf_map_delete_elem(&pythons, &tgid);
		unwind_ended(tgid);
	}
	w = life_begin(WIRE_EXIT, task);
	if (!w)
		return 0;
	w->who.execs = execs; /* it is no target any more */
	w->process = last;
	w->status = BPF_CORE_READ(task, exit_code);
	bpf_ringbuf_submit(w, last ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/task_rename")
int life_rename(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	const char *name = (void *)ctx[1];
	u32 tgid = BPF_CORE_READ(task, tgid);
	struct wire_life *w;

	if (!target_of(tgid))
		return 0;
	w = life_begin(WIRE_NAME, task);
	if (!w)
		return 0;
	bpf_probe_read_kernel_str(w->name, sizeof(w->name), name);
	bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
	return 0;
}
