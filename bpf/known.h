// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Files that the recorder has looked at: a process that executes or loads what is known to hold
 * nothing to probe need not be stopped for it.
 */
#ifndef INGERO_BPF_KNOWN_H
#define INGERO_BPF_KNOWN_H

#include "bpf/maps.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct vm_area_struct {
	struct file *vm_file;
};
#pragma clang attribute pop

__weak struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct known_file);
	__type(value, struct known_state);
} known_files SEC(".maps");

struct file_number {
	struct known_file file;
	u32 generation;
};

static __always_inline void read_file_number(struct file_number *n, struct file *file)
{
	n->file.inode = BPF_CORE_READ(file, f_inode, i_ino);
	n->file.device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	n->generation = BPF_CORE_READ(file, f_inode, i_generation);
}

/* NULL: the recorder has not looked at it. */
static __always_inline struct known_state *known_state_of(struct file_number *n)
{
	struct known_state *known = bpf_map_lookup_elem(&known_files, &n->file);

	if (known && !known->generation)
		known->generation = n->generation;
	return known && known->generation == n->generation ? known : 0;
}

#endif
