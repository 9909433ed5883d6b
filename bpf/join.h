// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a thread that meets a probe becomes one that is followed: its process is a target, or becomes
 * one by what the recording is of.
 */
#ifndef INGERO_BPF_JOIN_H
#define INGERO_BPF_JOIN_H

#include "bpf/maps.h"

/* The state of the calling thread, made if its process is a target, else NULL. source: whose event
 * is lost when there is no memory for it. */
static __always_inline struct task_state *caller_join(struct task_struct *task, u32 source)
{
	struct task_state *st;
	u32 tgid = task->tgid;

	if (!bpf_map_lookup_elem(&targets, &tgid)) {
		struct target joins = { .flags = TARGET_FOLLOW | TARGET_CALLED };

		if (config_scope == SCOPE_LISTED || tgid == config_self)
			return 0;
		if (config_scope == SCOPE_USER && (u32)bpf_get_current_uid_gid() != config_uid)
			return 0;
		if (bpf_map_update_elem(&targets, &tgid, &joins, BPF_NOEXIST) == 0) {
			struct wire_life *w = life_begin(WIRE_NEW, task);

			if (w)
				bpf_ringbuf_submit(w, BPF_RB_FORCE_WAKEUP);
		}
	}
	st = task_state_make(task);
	if (!st)
		count_loss(source, WIRE_LOST_STATE);
	return st;
}

#endif
