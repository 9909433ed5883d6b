// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Remembers the file that a target calls stat() on: once its name is resolved nothing in the task
 * leads to it any more, and a network file system is asked for the state only then. sched.bpf.c
 * turns sleeps into events.
 */
#include "bpf/host.h"

static __always_inline int remember_stat(struct path *path)
{
	struct task_state *st = task_state_of(bpf_get_current_task_btf());

	if (st) {
		st->host.stat_mnt = (u64)BPF_CORE_READ(path, mnt);
		st->host.stat_dentry = (u64)BPF_CORE_READ(path, dentry);
	}
	return 0;
}

/* In any task's stat(), by name or by descriptor, on any file system. */
SEC("fentry/security_inode_getattr")
int host_file_stat(u64 *ctx)
{
	return remember_stat((void *)ctx[0]);
}

SEC("kprobe/security_inode_getattr")
int host_file_stat_kprobe(struct pt_regs *ctx)
{
	return remember_stat((void *)REGS_FIRST(ctx));
}
