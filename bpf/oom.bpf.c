// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Processes chosen to die for want of memory, their cgroup's or the machine's: those of targets,
 * and those that die because a target asked. In the ring of births and deaths, where no burst of
 * calls can push them out.
 */
#include "bpf/host.h"

/* The tracepoint hands over the task since 6.8, its number before. */
struct trace_event_raw_mark_victim {
	u32 uid;
} __attribute__((preserve_access_index));

SEC("tp_btf/mark_victim")
int host_oom_victim(u64 *ctx)
{
	struct task_struct *trigger = bpf_get_current_task_btf(), *victim;
	bool whole = bpf_core_field_exists(struct trace_event_raw_mark_victim, uid);
	u32 by = BPF_CORE_READ(trigger, tgid), tgid;
	struct wire_life *w;

	if (whole) {
		victim = (void *)ctx[0];
		tgid = BPF_CORE_READ(victim, tgid);
	} else {
		victim = trigger;
		tgid = (u32)ctx[0];
	}
	if (!bpf_map_lookup_elem(&targets, &tgid) && !bpf_map_lookup_elem(&targets, &by))
		return 0;
	w = life_begin(WIRE_OOM, victim);
	if (!w)
		return 0;
	w->process = whole || tgid == by;
	w->child = BPF_CORE_READ(trigger, pid);
	w->child_tgid = by;
	w->child_start_ns = BPF_CORE_READ(trigger, start_boottime);
	w->status = (s32)tgid;
	bpf_ringbuf_submit(w, BPF_RB_FORCE_WAKEUP);
	return 0;
}
