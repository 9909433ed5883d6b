// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Creates the task storage of targets' threads, when a thread is born and for those that exist when
 * recording begins. Programs that must not allocate (in the scheduler, in an interrupt) follow
 * exactly the threads that have it.
 */
#include "bpf/occupancy.h"
#include "bpf/stack.h"

/* Allocates all that following a thread needs, before the scheduler runs it. tgid: the process
 * whose Python it runs. */
static __always_inline void follow_task(struct task_struct *task, u32 tgid)
{
	if (!task_state_make(task) ||
	    (config_walker != WALKER_NONE && bpf_map_lookup_elem(&pythons, &tgid) &&
	     !bpf_task_storage_get(&python_walks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE)))
		count_loss(SOURCE_SCHED, WIRE_LOST_STATE);
}

/* A target's new thread or process gets its state before it runs. */
SEC("tp_btf/sched_process_fork")
int follow_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 tgid = parent->tgid;
	struct target *t = bpf_map_lookup_elem(&targets, &tgid);

	if (!t || (child->tgid != tgid && !(t->flags & TARGET_FOLLOW)))
		return 0;
	follow_task(child, tgid); /* a new process is the Python that its parent is */
	return 0;
}

/* Run by the recorder when it has named targets: their threads get their state. */
SEC("iter/task")
int follow_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 tgid;

	if (!task)
		return 0;
	tgid = task->tgid;
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	follow_task(task, tgid);
	return 0;
}
