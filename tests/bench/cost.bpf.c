// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the recorder's kernel side is compared with: programs that do nothing, on the same places,
 * and the way such tracers are commonly written (a hash of calls in flight, a long record, a
 * wake-up for each).
 */
#include "bpf/kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

extern bool bpf_session_is_return(void) __ksym __weak;

struct common_event {
	u64 words[10];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} common_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, u64);
	__type(value, struct common_event);
} inflight SEC(".maps");

SEC("uprobe")
int empty_call(struct pt_regs *ctx)
{
	return 0;
}

SEC("uprobe")
int common_call(struct pt_regs *ctx)
{
	u64 key = bpf_get_current_pid_tgid();
	struct common_event *open, *w;

	if (!bpf_session_is_return()) {
		struct common_event ev = {};

		ev.words[0] = bpf_ktime_get_ns();
		ev.words[1] = key;
		ev.words[2] = REGS_SP(ctx);
		bpf_map_update_elem(&inflight, &key, &ev, BPF_ANY);
		return 0;
	}
	open = bpf_map_lookup_elem(&inflight, &key);
	if (!open)
		return 0;
	w = bpf_ringbuf_reserve(&common_ring, sizeof(*w), 0);
	if (w) {
		*w = *open;
		w->words[3] = bpf_ktime_get_ns() - open->words[0];
		w->words[4] = REGS_RC(ctx);
		bpf_ringbuf_submit(w, 0);
	}
	bpf_map_delete_elem(&inflight, &key);
	return 0;
}

#define STACKID_FRAMES 127		       /* as the kernel has it */
#define USER_STACK     (1ull << 8 | 1ull << 9) /* BPF_F_USER_STACK | BPF_F_FAST_STACK_CMP */

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1024);
	__uint(key_size, sizeof(u32));
	__uint(value_size, STACKID_FRAMES * sizeof(u64));
} stackids SEC(".maps");

SEC("uprobe")
int stackid_call(struct pt_regs *ctx)
{
	if (bpf_session_is_return())
		bpf_get_stackid(ctx, &stackids, USER_STACK);
	return 0;
}

SEC("tp_btf/sched_switch")
int empty_switch(u64 *ctx)
{
	return 0;
}

SEC("tp_btf/sched_waking")
int empty_waking(u64 *ctx)
{
	return 0;
}

SEC("tp_btf/sched_wakeup")
int empty_wakeup(u64 *ctx)
{
	return 0;
}
