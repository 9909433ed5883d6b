// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counts and reports TCP segments that are sent again, per connection. They are noticed in
 * interrupts, where the current thread has nothing to do with it: whose a socket is, is kept from
 * where its owner connected or accepted it (or first received something), or was found to have it
 * open when it became a target, until the connection is over: what is still to be sent of a socket
 * that was closed is its last owner's. Of others (handed over between processes) the socket's inode
 * crosses, by which the recorder finds who has it open.
 */
#include "bpf/file.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sk_buff {
	char cb[48];
};
struct tcp_skb_cb {
	u16 tcp_gso_segs;
};
struct proto_accept_arg {
	int flags;
};
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};
#pragma clang attribute pop

#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE    7

/* Socket to its owner: the process, and its thread that got it. */
struct tcp_owner {
	u32 tgid;
	u32 tid;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct tcp_owner);
} tcp_owners SEC(".maps");

static __always_inline void set_owner(struct task_struct *task, u64 sk, u64 flags)
{
	struct tcp_owner owner = { .tgid = task->tgid, .tid = task->pid };
	struct task_state *st;

	if (!bpf_map_lookup_elem(&targets, &owner.tgid))
		return;
	st = task_state_make(task);
	if (!st)
		count_loss(SOURCE_NET, WIRE_LOST_STATE);
	else if (!task_announce(task, st))
		count_loss(SOURCE_NET, WIRE_LOST_RING);
	else
		bpf_map_update_elem(&tcp_owners, &sk, &owner, flags);
}

static __always_inline void set_listening(struct sock *sk)
{
	u64 key = listening_key(sk);
	u32 yes = 1;

	bpf_map_update_elem(&tcp_listening, &key, &yes, BPF_ANY);
}

SEC("tp_btf/inet_sock_set_state")
int host_tcp_state(u64 *ctx)
{
	u64 sk = ctx[0];
	u32 state = ctx[2], role = state == TCP_SYN_SENT ? SOCKET_CONNECTED : SOCKET_ACCEPTED;

	if (state == TCP_CLOSE) {
		if (bpf_map_lookup_elem(&tcp_owners, &sk))
			bpf_map_delete_elem(&tcp_owners, &sk);
		if (bpf_map_lookup_elem(&tcp_roles, &sk))
			bpf_map_delete_elem(&tcp_roles, &sk);
	} else if (state == TCP_LISTEN) {
		set_listening((void *)ctx[0]);
	} else if (state == TCP_SYN_SENT || (state == TCP_SYN_RECV && ctx[1] == TCP_LISTEN)) {
		bpf_map_update_elem(&tcp_roles, &sk, &role, BPF_ANY);
	}
	if (state == TCP_SYN_SENT)
		set_owner(bpf_get_current_task_btf(), sk, BPF_ANY);
	return 0;
}

static __always_inline int on_accept(u64 sk)
{
	if (sk)
		set_owner(bpf_get_current_task_btf(), sk, BPF_ANY);
	return 0;
}

/* The result stands behind the arguments: two since Linux 6.10, four before. */
SEC("fexit/inet_csk_accept")
int host_tcp_accept(u64 *ctx)
{
	u64 sk;

	/* Two loads: of one from a place that is chosen, 5.15's verifier says that the context was
	 * changed. */
	if (bpf_core_type_exists(struct proto_accept_arg)) {
		sk = ctx[2];
		__asm__ volatile("" : "+r"(sk));
	} else {
		sk = ctx[4];
		__asm__ volatile("" : "+r"(sk));
	}
	return on_accept(sk);
}

SEC("kretprobe/inet_csk_accept")
int host_tcp_accept_kprobe(struct pt_regs *ctx)
{
	return on_accept(REGS_RC(ctx));
}

/* Where nothing can be put at a function: who is the first to receive something on it has it, as
 * servers do. Of whoever receives, in its own thread. */
SEC("tp_btf/tcp_rcv_space_adjust")
int host_tcp_accept_traced(u64 *ctx)
{
	u64 sk = 0;

	bpf_probe_read_kernel(&sk, sizeof(sk), ctx);
	if (!bpf_map_lookup_elem(&tcp_owners, &sk))
		set_owner(bpf_get_current_task_btf(), sk, BPF_NOEXIST);
	return 0;
}

/* Run by the recorder when it has named targets: what they have open already. */
SEC("iter/task_file")
int host_tcp_adopt(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct socket *socket;
	u64 sk;
	u16 family;

	if (!task || !file || (BPF_CORE_READ(file, f_inode, i_mode) & 0170000) != 0140000)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = (u64)BPF_CORE_READ(socket, sk);
	family = BPF_CORE_READ((struct sock *)sk, __sk_common.skc_family);
	if (!sk || (family != INET && family != INET6) ||
	    BPF_CORE_READ((struct sock *)sk, sk_protocol) != TCP ||
	    BPF_CORE_READ((struct sock *)sk, __sk_common.skc_state) == TCP_CLOSE)
		return 0;
	if (BPF_CORE_READ((struct sock *)sk, __sk_common.skc_state) == TCP_LISTEN)
		set_listening((void *)sk);
	set_owner(task, sk, BPF_NOEXIST);
	return 0;
}

__u32 peers_look SEC(".bss"); /* number of the look that the recorder takes */

/* leader: address of the main thread of the process that has it. */
static __always_inline void send_peer(u32 number, u32 near, u64 leader)
{
	struct wire_peer *w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	struct task_struct *task = (void *)leader;

	if (!w)
		return;
	__builtin_memset(w, 0, sizeof(*w));
	w->kind = WIRE_PEER;
	w->near = near;
	w->number = number;
	if (leader) {
		w->tgid = BPF_CORE_READ(task, tgid);
		BPF_CORE_READ_STR_INTO(&w->comm, task, comm);
	}
	bpf_ringbuf_submit(w, ring_flags());
}

/* A process has an end of the connection of this key. A function of its own, which the verifier
 * checks once. */
__weak __noinline int send_holder(u64 key, u32 near, u64 leader)
{
	struct peer_wanted *wanted = bpf_map_lookup_elem(&peers, &key);
	u32 look;

	if (!wanted)
		return 0;
	look = near ? wanted->near : wanted->far;
	if (look && look != peers_look)
		return 0;
	if (near)
		wanted->near = peers_look;
	else
		wanted->far = peers_look;
	send_peer(wanted->number, near, leader);
	return 0;
}

/* Run by the recorder when peers are wanted: who of the whole machine has them open. After a fork
 * those are several, and some have both ends. */
SEC("iter/task_file")
int host_tcp_peers(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct wire_socket s = { 0 };
	struct socket *socket;
	struct sock *sk;
	u64 leader;

	if (!task || !file) { /* behind the last */
		send_peer(0, 0, 0);
		return 0;
	}
	if ((BPF_CORE_READ(file, f_inode, i_mode) & 0170000) != 0140000)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	if (!sk)
		return 0;
	socket_ends(&s, sk);
	if (s.family != UNIX && (!s.remote_port || BPF_CORE_READ(sk, sk_protocol) != TCP))
		return 0;
	leader = (u64)BPF_CORE_READ(task, group_leader);
	send_holder(near_key(&s, sk), 0, leader);
	send_holder(far_key(&s, sk), 1, leader);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int host_tcp_retransmit(u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct sk_buff *skb = (void *)ctx[1];
	u64 key = 0, now = bpf_ktime_get_ns(), cb;
	struct tcp_owner *owner;
	u32 number;
	struct wire_host *w;
	u16 segments = 0;

	/* As a number: functions of their own take no pointers. */
	bpf_probe_read_kernel(&key, sizeof(key), ctx);
	owner = bpf_map_lookup_elem(&tcp_owners, &key);
	number = number_of_socket(key);
	if (!number)
		return 0; /* counted */
	w = host_record(WIRE_RETRANSMIT, SOURCE_NET, owner ? owner->tid : 0, now, now);
	if (!w)
		return 0;
	cb = (u64)skb + bpf_core_field_offset(struct sk_buff, cb) +
	     bpf_core_field_offset(struct tcp_skb_cb, tcp_gso_segs);
	bpf_probe_read_kernel(&segments, sizeof(segments), (void *)cb);
	w->inode = socket_inode(sk);
	w->number = number;
	w->x[0] = segments;
	w->x[1] = BPF_CORE_READ(sk, __sk_common.skc_state);
	w->present = 3;
	w->x[2] = owner ? owner->tgid : 0; /* numbers of threads are used again */
	bpf_ringbuf_submit(w, ring_flags());
	return 0;
}
