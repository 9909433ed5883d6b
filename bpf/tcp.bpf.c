// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Segments sent again. They are noticed in interrupts, where the current thread has nothing to do with it: whose a
 * socket is, is kept from where its owner connected it; of others (accepted, older than the recording, inherited) the
 * socket's inode crosses, by which the recorder finds the target that has it open.
 */
#include "bpf/file.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sk_buff {
	char cb[48];
};
struct tcp_skb_cb {
	u16 tcp_gso_segs;
};
struct socket_alloc {
	struct inode vfs_inode;
};
#pragma clang attribute pop

#define TCP_SYN_SENT 2
#define TCP_CLOSE    7

/* Socket to the thread that connected it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u32);
} tcp_owners SEC(".maps");

SEC("tp_btf/inet_sock_set_state")
int host_tcp_state(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 sk = ctx[0];
	u32 state = ctx[2], tid;
	struct task_state *st;

	if (state == TCP_CLOSE) {
		if (bpf_map_lookup_elem(&tcp_owners, &sk))
			bpf_map_delete_elem(&tcp_owners, &sk);
		return 0;
	}
	if (state != TCP_SYN_SENT)
		return 0;
	st = host_current(task);
	tid = task->pid;
	if (st && task_announce(task, st))
		bpf_map_update_elem(&tcp_owners, &sk, &tid, BPF_ANY);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int host_tcp_retransmit(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct sk_buff *skb = (void *)ctx[1];
	u64 key = 0, now = bpf_ktime_get_ns(), cb, inode;
	u32 *owner, number;
	struct socket *socket = BPF_CORE_READ(sk, sk_socket);
	struct wire_host *w;
	u16 segments = 0;

	/* As a number: functions of their own take no pointers. */
	bpf_probe_read_kernel(&key, sizeof(key), ctx);
	owner = bpf_map_lookup_elem(&tcp_owners, &key);
	number = number_of_socket(key);
	if (!number)
		return 0; /* counted */
	w = host_record(WIRE_RETRANSMIT, SOURCE_NET, owner ? *owner : 0, now, now);
	if (!w)
		return 0;
	cb = (u64)skb + bpf_core_field_offset(struct sk_buff, cb) +
	     bpf_core_field_offset(struct tcp_skb_cb, tcp_gso_segs);
	bpf_probe_read_kernel(&segments, sizeof(segments), (void *)cb);
	inode = (u64)socket + bpf_core_field_offset(struct socket_alloc, vfs_inode);
	w->inode = socket ? BPF_CORE_READ((struct inode *)inode, i_ino) : 0;
	w->number = number;
	w->x[0] = segments;
	w->x[1] = BPF_CORE_READ(sk, __sk_common.skc_state);
	w->present = 3;
	bpf_ringbuf_submit(w, ring_flags());
	return 0;
}
