// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which file a target asks the state of: once its name is found nothing of the task leads to it any
 * more, and a file system across the network is asked for the state only then. Where sleeps become
 * events: sched.bpf.c.
 */
#include "bpf/host.h"

static __always_inline int asked(struct path *path)
{
	struct task_state *st = task_state_of(bpf_get_current_task_btf());

	if (st) {
		st->host.stat_mnt = (u64)BPF_CORE_READ(path, mnt);
		st->host.stat_dentry = (u64)BPF_CORE_READ(path, dentry);
	}
	return 0;
}

/* Of whoever asks, by name or by descriptor, on any file system. */
SEC("fentry/security_inode_getattr")
int host_file_stat(u64 *ctx)
{
	return asked((void *)ctx[0]);
}

SEC("kprobe/security_inode_getattr")
int host_file_stat_kprobe(struct pt_regs *ctx)
{
	return asked((void *)REGS_FIRST(ctx));
}
