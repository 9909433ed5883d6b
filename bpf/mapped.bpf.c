// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which file is mapped where in a process, by the inode that the kernel keys probes by. Where one
 * file system lies over another, as in containers, /proc/PID/maps of newer kernels (6.7 and later)
 * shows an inode of the upper one: another one in each container of an image, although all of them
 * run the same file and meet the same probes.
 */
#include "bpf/kernel.h"
#include "bpf/wire.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct vm_area_struct {
	unsigned long vm_start;
	struct file *vm_file;
};
struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};
#pragma clang attribute pop

/* Prints what of one process is a file; the recorder runs it for a process whose mappings are of
 * such a file system. */
SEC("iter/task_vma")
int mapped_files(struct bpf_iter__task_vma *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct wire_mapped w = {};
	struct inode *inode;
	struct file *file;

	if (!task || !vma)
		return 0;
	file = BPF_CORE_READ(vma, vm_file);
	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	w.start = BPF_CORE_READ(vma, vm_start);
	w.inode = BPF_CORE_READ(inode, i_ino);
	w.device = BPF_CORE_READ(inode, i_sb, s_dev);
	w.tgid = BPF_CORE_READ(task, tgid);
	bpf_seq_write(ctx->meta->seq, &w, sizeof(w));
	return 0;
}
