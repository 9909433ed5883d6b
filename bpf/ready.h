// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which descriptors were ready when a thread came back from epoll_wait: as the kernel's list of the
 * epoll has them at the moment the thread gets the CPU. That list is empty when a thread falls
 * asleep, and what is put on it has called back since, so that nothing is asked of a file. What is
 * not in it (another thread has taken it, the wait timed out) is not told. Of a poll of one
 * descriptor alone that is a pipe the same is seen by the pipe. Waits shorter than READY_NS are not
 * worth a record.
 */
#ifndef INGERO_BPF_READY_H
#define INGERO_BPF_READY_H

#include "bpf/file.h"
#include "bpf/object.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct list_head {
	struct list_head *next;
};
struct epoll_filefd {
	struct file *file;
	int fd;
};
struct epitem {
	struct list_head rdllink;
	struct epoll_filefd ffd;
};
struct eventpoll {
	struct list_head rdllist;
};
struct pipe_inode_info {
	unsigned int head;
	unsigned int tail;
	unsigned int writers;
};
#pragma clang attribute pop

#define READY_NS 100000

/* The file behind a descriptor of that task; 0 none. */
static __always_inline u64 file_of(struct task_struct *task, u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	u64 file = 0;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

/* What it is: a socket by its number, everything else by its kind of inode and the name of its
 * dentry, which anonymous ones have of their kind. */
static __always_inline void ready_describe(struct wire_ready_fd *w, u64 address)
{
	struct file *file = (void *)address;
	const void *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	struct socket *socket;
	u64 sk;

	w->mode = BPF_CORE_READ(file, f_inode, i_mode) & MODE_TYPE;
	w->number = 0;
	w->name[0] = 0;
	if (w->mode == MODE_SOCKET) {
		socket = BPF_CORE_READ(file, private_data);
		sk = (u64)BPF_CORE_READ(socket, sk);
		w->number = sk ? number_of_socket(sk) : 0;
	} else {
		bpf_probe_read_kernel_str(w->name, sizeof(w->name), name);
	}
}

/* Something can be read from it, or never will. */
static __always_inline bool pipe_ready(u64 file)
{
	struct pipe_inode_info *pipe = (void *)BPF_CORE_READ((struct file *)file, private_data);

	return BPF_CORE_READ(pipe, head) != BPF_CORE_READ(pipe, tail) ||
	       !BPF_CORE_READ(pipe, writers);
}

/* Where a record is put together: two stacks of it would not fit. busy as of file_rooms. */
struct ready_room {
	u32 busy;
	u32 n;
	u64 at; /* in the list */
	struct wire_ready record;
};
__weak struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ready_room);
} ready_rooms SEC(".maps");

/* The first few of the list of an epoll's ready ones. */
static __always_inline void ready_list(struct ready_room *room, u64 epoll)
{
	struct eventpoll *ep = (void *)BPF_CORE_READ((struct file *)epoll, private_data);
	u64 head = (u64)ep + bpf_core_field_offset(struct eventpoll, rdllist);
	u32 i;

	room->at = (u64)BPF_CORE_READ(ep, rdllist.next);
	for (i = 0; i < WIRE_READY_MAX; i++) {
		struct epitem *item =
			(void *)(room->at - bpf_core_field_offset(struct epitem, rdllink));

		if (!room->at || room->at == head)
			break;
		room->record.fd[i].fd = BPF_CORE_READ(item, ffd.fd);
		ready_describe(&room->record.fd[i], (u64)BPF_CORE_READ(item, ffd.file));
		room->n = i + 1;
		room->at = (u64)BPF_CORE_READ(item, rdllink.next);
	}
	room->record.more = room->at && room->at != head;
}

/* The thread of that task waited for these descriptors from out on and gets the CPU now. A function
 * of its own, which the verifier checks once. */
__weak __noinline int ready_send(u64 task_address, u32 fd, u32 poll, u64 now)
{
	struct task_struct *task = (void *)task_address;
	u64 file = file_of(task, fd);
	struct ready_room *room;
	u32 zero = 0, n;

	room = bpf_map_lookup_elem(&ready_rooms, &zero);
	if (!room || !file || __sync_lock_test_and_set(&room->busy, 1))
		return 0;
	room->n = 0;
	room->record.more = 0;
	if (poll) {
		room->record.fd[0].fd = fd;
		ready_describe(&room->record.fd[0], file);
		room->n = room->record.fd[0].mode == MODE_PIPE && pipe_ready(file);
	} else if (bpf_core_type_exists(struct eventpoll)) {
		ready_list(room, file);
	}
	n = room->n;
	if (n > WIRE_READY_MAX)
		n = WIRE_READY_MAX;
	room->record.kind = WIRE_READY;
	room->record.n = n;
	room->record.pad = 0;
	room->record.tid = BPF_CORE_READ(task, pid);
	room->record.end_ns = now;
	if (n)
		bpf_ringbuf_output(&ring, &room->record,
				   WIRE_READY_HEAD + n * sizeof(struct wire_ready_fd),
				   BPF_RB_NO_WAKEUP);
	room->busy = 0;
	return 0;
}

#endif
