// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which file or socket a thread waits for, as a number: its description crosses the ring once.
 * Files are described by their names up to the root of the mount namespace, read from the kernel's
 * dentry tree: this needs no file system, which may be the one that hangs, and works for a process
 * that ends at once. Pointers are passed as numbers and every read is a guarded one: a stale
 * pointer gives a wrong name at worst.
 */
#ifndef INGERO_BPF_FILE_H
#define INGERO_BPF_FILE_H

#include "bpf/host.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct in6_addr {
	u8 bytes[16];
};
typedef struct {
	struct net *net;
} possible_net_t;
struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	possible_net_t skc_net;
};
struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
	u16 sk_protocol;
	u8 sk_userlocks : 4;
	struct socket *sk_socket;
};
struct socket {
	struct sock *sk;
};
struct socket_alloc {
	struct inode vfs_inode;
};
struct sockaddr_un {
	char sun_path[108];
};
struct unix_address {
	int len;
	struct sockaddr_un name[1];
};
struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};
#pragma clang attribute pop

#define NUMBER_SOCKET 0x80000000 /* in what number_of_fd returns */
#define UNIX	      1
#define INET	      2
#define INET6	      10
#define TCP	      6
#define UDP	      17
#define TCP_LISTEN    10

__weak __u32 file_number SEC(".bss"); /* last one given, to files and sockets alike */
/* Part of every key: when the recorder increments it, all are sent again, under new numbers. */
__weak __u32 file_epoch SEC(".bss");

/* Hash of what distinguishes files and sockets to their number. An evicted one is sent again. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, u32);
} files SEC(".maps");

/* Where a record is assembled. busy: by a thread that lost the CPU meanwhile. The progress is kept
 * here and not on the BPF stack, so that the verifier does not distinguish the steps. */
struct file_room {
	u32 busy;
	u32 n;
	u32 mounted; /* + 1; 0: not met */
	u32 done;
	u64 dentry;
	u64 mnt;
	struct wire_file record;
};
__weak struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct file_room);
} file_rooms SEC(".maps");

#define FILE_STEPS 26 /* names and mount points on the way up */

/* One step towards the root: over a mount point, or past a name. The verifier checks it once, not
 * for each step. */
__weak __noinline int file_step(struct file_room *room)
{
	struct dentry *dentry;
	struct mount *mnt;
	u64 root, above;
	void *name;
	u32 n;

	if (!room)
		return 0;
	dentry = (void *)room->dentry;
	mnt = (void *)room->mnt;
	root = (u64)BPF_CORE_READ(mnt, mnt.mnt_root);
	above = (u64)BPF_CORE_READ(mnt, mnt_parent);
	n = room->n;

	if (room->dentry == root) {
		if (!room->mounted)
			room->mounted = n + 1;
		if (above == room->mnt || !above) {
			room->done = 1;
			return 0;
		}
		room->dentry = (u64)BPF_CORE_READ(mnt, mnt_mountpoint);
		room->mnt = above;
		return 0;
	}
	above = (u64)BPF_CORE_READ(dentry, d_parent);
	if (above == room->dentry || !above) {
		room->done = 1;
		return 0;
	}
	if (n >= WIRE_FILE_NAMES)
		return 0;
	name = (void *)BPF_CORE_READ(dentry, d_name.name);
	if (bpf_probe_read_kernel_str(room->record.name[n], WIRE_FILE_NAME, name) < 0)
		room->record.name[n][0] = 0;
	room->n = n + 1;
	room->dentry = above;
	return 0;
}

/* last: the name behind dentry, which has no dentry of its own yet; 0 none. */
static __always_inline void file_names(struct file_room *room, u64 dentry, u64 mnt, u64 last)
{
	struct wire_file *w = &room->record;
	u32 i;

	room->dentry = dentry;
	room->mnt = mnt;
	room->n = room->mounted = room->done = 0;
	if (last) {
		u32 n = BPF_CORE_READ((struct qstr *)last, hash_len) >> 32;
		const void *name = BPF_CORE_READ((struct qstr *)last, name);

		/* The rest of the path stands behind it. */
		if (bpf_probe_read_kernel_str(w->name[0], WIRE_FILE_NAME, name) < 0)
			n = 0;
		if (n < WIRE_FILE_NAME)
			w->name[0][n] = 0;
		room->n = 1;
	}
	for (i = 0; i < FILE_STEPS; i++) {
		if (room->done)
			break;
		file_step(room);
	}
	w->names = room->n;
	w->mounted = room->mounted ? room->mounted - 1 : room->n;
	w->cut = !room->done;
}

static __always_inline u32 number_next(void)
{
	return __sync_fetch_and_add(&file_number, 1) + 1;
}

/* The number of the file at a path, or of the name behind it (last, a struct qstr; 0 none). 0: it
 * could not be sent, which is counted. */
__weak __noinline u32 number_of_path(u64 dentry, u64 vfsmount, u64 last)
{
	struct inode *inode = BPF_CORE_READ((struct dentry *)dentry, d_inode);
	struct super_block *sb = BPF_CORE_READ((struct dentry *)dentry, d_sb);
	u64 mnt = vfsmount - bpf_core_field_offset(struct mount, mnt);
	u64 hash = BPF_CORE_READ((struct dentry *)dentry, d_name.hash_len);
	u64 key = mix(mix(mix(mix(mix(7 + ((u64)file_epoch << 32), dentry), (u64)inode),
			      BPF_CORE_READ(inode, i_ino)),
			  mnt),
		      hash);
	u32 *known = last ? 0 : bpf_map_lookup_elem(&files, &key), zero = 0, number, names;
	struct file_room *room;
	struct wire_file *w;
	const char *text;

	if (last) {
		key = mix(key, BPF_CORE_READ((struct qstr *)last, hash_len));
		known = bpf_map_lookup_elem(&files, &key);
	}
	if (known)
		return *known;
	room = bpf_map_lookup_elem(&file_rooms, &zero);
	if (!room)
		return 0;
	if (__sync_lock_test_and_set(&room->busy, 1)) {
		count_loss(SOURCE_IO, WIRE_LOST_STATE);
		return 0;
	}
	w = &room->record;
	number = number_next();
	w->kind = WIRE_FILE;
	w->number = number;
	w->device = BPF_CORE_READ(sb, s_dev);
	w->pad = 0;
	w->fstype[0] = w->subtype[0] = w->origin[0] = 0;
	text = BPF_CORE_READ(sb, s_type, name);
	bpf_probe_read_kernel_str(w->fstype, sizeof(w->fstype), text);
	text = BPF_CORE_READ(sb, s_subtype);
	if (text)
		bpf_probe_read_kernel_str(w->subtype, sizeof(w->subtype), text);
	text = BPF_CORE_READ((struct mount *)mnt, mnt_devname);
	bpf_probe_read_kernel_str(w->origin, sizeof(w->origin), text);
	file_names(room, dentry, mnt, last);
	names = w->names;
	if (names > WIRE_FILE_NAMES)
		names = WIRE_FILE_NAMES;
	if (bpf_ringbuf_output(&ring, w, WIRE_FILE_HEAD + names * WIRE_FILE_NAME,
			       BPF_RB_NO_WAKEUP)) {
		count_loss(SOURCE_IO, WIRE_LOST_RING);
		number = 0;
	} else {
		bpf_map_update_elem(&files, &key, &number, BPF_ANY);
	}
	room->busy = 0;
	return number;
}

/* Of an open file. */
__weak __noinline u32 number_of_file(u64 address)
{
	struct file *file = (void *)address;

	return number_of_path((u64)BPF_CORE_READ(file, f_path.dentry),
			      (u64)BPF_CORE_READ(file, f_path.mnt), 0);
}

/* Of the name that a path is at. Hashes of names are made with the folder they are looked up in: a
 * place that has the last name's is what that name led to, itself or over a mount point. */
__weak __noinline u32 number_of_lookup(u64 address)
{
	struct nameidata *nd = (void *)address;
	u64 vfsmount = (u64)BPF_CORE_READ(nd, path.mnt), hash = BPF_CORE_READ(nd, last.hash_len);
	struct mount *mnt = (void *)(vfsmount - bpf_core_field_offset(struct mount, mnt));
	struct dentry *dentry = BPF_CORE_READ(nd, path.dentry);
	u64 last = address + bpf_core_field_offset(struct nameidata, last);

	if (BPF_CORE_READ(nd, last_type) != 0 || BPF_CORE_READ(dentry, d_name.hash_len) == hash ||
	    (dentry == BPF_CORE_READ(mnt, mnt.mnt_root) &&
	     BPF_CORE_READ(mnt, mnt_mountpoint, d_name.hash_len) == hash))
		last = 0;
	return number_of_path((u64)dentry, vfsmount, last);
}

static __always_inline void socket_ends(struct wire_socket *s, struct sock *sk)
{
	s->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (s->family == INET) {
		u32 from = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		u32 to = BPF_CORE_READ(sk, __sk_common.skc_daddr);

		__builtin_memcpy(s->local, &from, 4);
		__builtin_memcpy(s->remote, &to, 4);
	} else if (s->family == INET6) {
		BPF_CORE_READ_INTO(&s->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&s->remote, sk, __sk_common.skc_v6_daddr);
	}
	if (s->family == INET || s->family == INET6) {
		s->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
		s->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	}
}

/* TCP sockets to how they came to be connected, as far as that was seen: enum socket_role.
 * tcp.bpf.c sees it. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u32);
} tcp_roles SEC(".maps");

/* Ports that have been listened on since recording began, or were then, by network namespace. */
__weak struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, u32);
} tcp_listening SEC(".maps");
__weak __u32 tcp_listening_known
	SEC(".bss"); /* set by the recorder: those there before are in it */

static __always_inline u64 listening_key(struct sock *sk)
{
	return mix(mix(19, (u64)BPF_CORE_READ(sk, __sk_common.skc_net.net)),
		   BPF_CORE_READ(sk, __sk_common.skc_num));
}

/* A connection that was there before us and is of a port that is listened on was accepted there; an
 * address taken for a connection that goes out is never such a port. */
static __always_inline u32 tcp_role(struct sock *sk, const struct wire_socket *s)
{
	u64 key = (u64)sk;
	u32 *seen = bpf_map_lookup_elem(&tcp_roles, &key);

	if (s->state == TCP_LISTEN)
		return SOCKET_LISTENING;
	if (seen)
		return *seen;
	if (!s->remote_port)
		return SOCKET_ROLE_UNKNOWN;
	key = listening_key(sk);
	if (bpf_map_lookup_elem(&tcp_listening, &key))
		return SOCKET_ACCEPTED;
	return tcp_listening_known ? SOCKET_CONNECTED : SOCKET_ROLE_UNKNOWN;
}

/* An accepted one has the name of the socket that listens, one that connects most often none; a
 * pair has none at all. */
static __always_inline u32 unix_role(struct sock *sk, const struct wire_socket *s)
{
	struct unix_sock *u = (void *)sk, *peer = (void *)BPF_CORE_READ(u, peer);
	u64 own = (u64)BPF_CORE_READ(u, addr), far;

	if (s->state == TCP_LISTEN)
		return SOCKET_LISTENING;
	if (!peer)
		return SOCKET_ROLE_UNKNOWN;
	far = (u64)BPF_CORE_READ(peer, addr);
	if (own && far)
		return SOCKET_ROLE_UNKNOWN;
	return own ? SOCKET_ACCEPTED : far ? SOCKET_CONNECTED : SOCKET_PAIR;
}

#define BINDS	   0xc /* of sk_userlocks: the program chose the address (4) or the port (8) */
#define BINDS_PORT 0x8

/* A socket of datagrams whose port the kernel chose got it by sending, or by connect(): nobody
 * could ask it before. One that is bound to no address and port 0 looks alike; its port, too, is
 * known to those it tells. A port that the program chose is for others to ask at, unless it chose
 * whom it talks to, too. */
static __always_inline u32 udp_role(struct sock *sk, const struct wire_socket *s)
{
	u32 chosen = BPF_CORE_READ_BITFIELD_PROBED(sk, sk_userlocks) & BINDS;

	if (s->local_port && !chosen)
		return SOCKET_CONNECTED;
	return chosen & BINDS_PORT && !s->remote_port ? SOCKET_LISTENING : SOCKET_ROLE_UNKNOWN;
}

static __always_inline u64 socket_inode(struct sock *sk)
{
	struct socket *socket = BPF_CORE_READ(sk, sk_socket);
	u64 inode = (u64)socket + bpf_core_field_offset(struct socket_alloc, vfs_inode);

	return socket ? BPF_CORE_READ((struct inode *)inode, i_ino) : 0;
}

#define LOOPBACK 127 /* first byte */

/* A connection as one of its ends has it, in IPv4 or mapped into IPv6 (::ffff:192.0.2.1) alike; a
 * loopback address counts with its network namespace, which each have one of their own. */
static __always_inline u64 socket_tuple(const struct wire_socket *s, struct sock *sk,
					bool other_end)
{
	const u32 *a = (const u32 *)(other_end ? s->remote : s->local),
		  *b = (const u32 *)(other_end ? s->local : s->remote);
	u16 from = other_end ? s->remote_port : s->local_port,
	    to = other_end ? s->local_port : s->remote_port;
	bool four = s->family == INET, mapped = !four && !a[0] && !a[1] && a[2] == 0xffff0000;
	u32 first = mapped ? a[3] : a[0], second = mapped ? b[3] : b[0];
	u64 key = mix(mix(mix(13, first), second), (u64)from << 16 | to);

	if (!four && !mapped) {
		key = mix(mix(mix(key, a[1]), a[2]), a[3]);
		key = mix(mix(mix(key, b[1]), b[2]), b[3]);
	}
	if (*(const u8 *)&first == LOOPBACK || (!four && !mapped && !a[0] && !a[1] && !a[2]))
		key = mix(key, (u64)BPF_CORE_READ(sk, __sk_common.skc_net.net));
	return key;
}

/* Connections, as their other end has them: who has which end is to be found. */
struct peer_wanted {
	u32 number;    /* of the near end */
	u32 far, near; /* the look that told who has that end; 0: none did */
};
__weak struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct peer_wanted);
} peers SEC(".maps");
__weak __u32 peers_wanted SEC(".bss"); /* how many have come into it */

static __always_inline u64 unix_key(u64 sk)
{
	return mix(17, sk);
}

/* An end as peers has it, and the end at the other side of it. */
static __always_inline u64 near_key(const struct wire_socket *s, struct sock *sk)
{
	return s->family == UNIX ? unix_key((u64)sk) : socket_tuple(s, sk, 0);
}

static __always_inline u64 far_key(const struct wire_socket *s, struct sock *sk)
{
	return s->family == UNIX ? unix_key((u64)BPF_CORE_READ((struct unix_sock *)sk, peer))
				 : socket_tuple(s, sk, 1);
}

static __always_inline void want_peer(const struct wire_socket *s, struct sock *sk)
{
	struct peer_wanted wanted = { .number = s->number };
	u64 key = far_key(s, sk);

	if (!bpf_map_update_elem(&peers, &key, &wanted, BPF_ANY))
		__sync_fetch_and_add(&peers_wanted, 1);
}

/* The name that a socket of this machine is bound to, or that its peer is; an abstract one begins
 * with a zero. */
static __always_inline void unix_name(struct sock *sk, char *name)
{
	struct unix_address *addr = BPF_CORE_READ((struct unix_sock *)sk, addr);
	void *path;
	u32 n;

	if (!addr)
		return;
	n = BPF_CORE_READ(addr, len);
	if (n <= UNIX_PATH)
		return;
	n -= UNIX_PATH; /* the family stands before */
	path = (void *)addr + bpf_core_field_offset(struct unix_address, name) + UNIX_PATH;
	if (n > WIRE_UNIX_NAME - 1)
		n = WIRE_UNIX_NAME - 1;
	bpf_probe_read_kernel(name, n & (WIRE_UNIX_NAME - 1), path);
}

/* Sends it, with what is long. False: the ring is full. */
static __always_inline bool socket_send(const struct wire_socket *s, struct sock *sk)
{
	struct wire_unix *w;

	if (s->family != UNIX)
		return !bpf_ringbuf_output(&ring, (void *)s, sizeof(*s), BPF_RB_NO_WAKEUP);
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w)
		return 0;
	__builtin_memset(w->local, 0, sizeof(w->local));
	__builtin_memset(w->remote, 0, sizeof(w->remote));
	w->socket = *s;
	unix_name(sk, w->local);
	if (BPF_CORE_READ((struct unix_sock *)sk, peer))
		unix_name(BPF_CORE_READ((struct unix_sock *)sk, peer), w->remote);
	bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
	return 1;
}

/* 0: the ring is full, and counted. */
__weak __noinline u32 number_of_socket(u64 address)
{
	struct sock *sk = (void *)address;
	struct wire_socket s = { .kind = WIRE_SOCKET };
	u64 key, *part = (u64 *)s.local;
	u32 *known;

	s.state = BPF_CORE_READ(sk, __sk_common.skc_state);
	s.type = BPF_CORE_READ(sk, sk_type);
	s.protocol = BPF_CORE_READ(sk, sk_protocol);
	socket_ends(&s, sk);
	if (s.family == UNIX) {
		s.inode = socket_inode(sk);
		s.role = unix_role(sk, &s);
	} else if (s.protocol == TCP) {
		s.role = tcp_role(sk, &s);
	} else if (s.protocol == UDP && (s.family == INET || s.family == INET6)) {
		s.role = udp_role(sk, &s);
	}
	key = mix(mix(11 + ((u64)file_epoch << 32), address), (u64)s.family << 32 | s.protocol);
	key = mix(mix(mix(mix(key, part[0]), part[1]), part[2]), part[3]);
	key = mix(mix(key, (u64)s.local_port << 16 | s.remote_port), s.inode << 8 | s.role);
	known = bpf_map_lookup_elem(&files, &key);
	if (known)
		return *known;
	s.number = number_next();
	if (!socket_send(&s, sk)) {
		count_loss(SOURCE_NET, WIRE_LOST_RING);
		return 0;
	}
	bpf_map_update_elem(&files, &key, &s.number, BPF_ANY);
	if ((s.protocol == TCP && s.remote_port) || s.family == UNIX)
		want_peer(&s, sk);
	return s.number;
}

/* Of a descriptor of the current thread: a file's number, a socket's with NUMBER_SOCKET, or 0. */
__weak __noinline u32 number_of_fd(u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = task->files->fdt;
	struct socket *socket;
	struct file *file;
	u32 number;
	u64 sk;

	if (fd >= table->max_fds || bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd) ||
	    !file)
		return 0;
	if ((BPF_CORE_READ(file, f_inode, i_mode) & 0170000) != 0140000)
		return number_of_file((u64)file);
	socket = BPF_CORE_READ(file, private_data);
	sk = (u64)BPF_CORE_READ(socket, sk);
	number = sk ? number_of_socket(sk) : 0;
	return number ? number | NUMBER_SOCKET : 0;
}

#endif
