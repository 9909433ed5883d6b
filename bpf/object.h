// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a thread sleeps on, told at the moment it leaves the CPU: from the system call it is in, its
 * arguments and the files they name. Only reads; a descriptor that cannot be looked up stays a
 * plain descriptor. Enum values are those of event/op.h.
 */
#ifndef INGERO_BPF_OBJECT_H
#define INGERO_BPF_OBJECT_H

#include "bpf/maps.h"
#include "bpf/regs.h"
#include "bpf/syscalls.h"

enum {
	OBJECT_NONE,
	OBJECT_FUTEX,
	OBJECT_FD,
	OBJECT_TIMER,
	OBJECT_DISK,
	OBJECT_FAULT,
	OBJECT_GPU,
	OBJECT_CHILD,
	OBJECT_STOP,
	OBJECT_POLL,
	OBJECT_SOCKET,
	OBJECT_GIL, /* by the recorder, which knows the address */
	OBJECT_FREEZER,
	OBJECT_PROBE,
	OBJECT_MAP,
};

/* Majors of the character devices of the GPU driver; 0 where there is none. */
__weak const volatile __u32 config_gpu_majors[4] = { 195, 0, 0, 0 };

#define FUTEX_CMD_MASK	127
#define MODE_TYPE	0170000
#define MODE_SOCKET	0140000
#define MODE_PIPE	0010000
#define MODE_REGULAR	0100000
#define MODE_FOLDER	0040000
#define MODE_BLOCK	0060000
#define MODE_CHAR	0020000
#define STATE_DEEP	2  /* TASK_UNINTERRUPTIBLE, of TASK_KILLABLE, too */
#define STATE_STOPPED	12 /* __TASK_STOPPED | __TASK_TRACED */
#define STATE_DEAD	0x80
#define STATE_FROZEN	0x8000	 /* TASK_FROZEN, since 6.1; not used before */
#define FLAG_FROZEN	0x10000	 /* PF_FROZEN, up to 6.0; of kernel threads alone since then */
#define JOB_TRAP_FREEZE 0x800000 /* JOBCTL_TRAP_FREEZE */
/* kernel/locking/rwsem.c: RWSEM_FLAG_WAITERS, since 5.2; what the owner's address has below it. */
#define RWSEM_WAITERS	  2
#define RWSEM_OWNER_FLAGS 7ull

/* A pointer in an array of them, for which any struct that is one pointer stands in. */
static __always_inline struct file *object_file(struct file **slot)
{
	struct file *file = 0;

	if (bpf_rdonly_cast) {
		struct hlist_head *head =
			bpf_rdonly_cast(slot, bpf_core_type_id_kernel(struct hlist_head));

		return bpf_rdonly_cast(head->first, bpf_core_type_id_kernel(struct file));
	}
	bpf_probe_read_kernel(&file, sizeof(file), slot);
	return file;
}

/* Inode and type of an open file; 0: unknown. */
static __always_inline struct inode *object_inode(struct file *file, u16 *mode)
{
	struct inode *inode;

	if (bpf_rdonly_cast) {
		inode = file->f_inode;
		*mode = inode->i_mode;
	} else {
		inode = BPF_CORE_READ(file, f_inode);
		*mode = BPF_CORE_READ(inode, i_mode);
	}
	*mode &= MODE_TYPE;
	return inode;
}

static __always_inline bool is_gpu(u32 rdev)
{
	u32 major = rdev >> 20, i;

	for (i = 0; i < 4; i++)
		if (major && major == config_gpu_majors[i])
			return 1;
	return 0;
}

/* What a descriptor is: OBJECT_SOCKET, OBJECT_GPU, OBJECT_DISK (then *dev is its device) or
 * OBJECT_FD. */
static __always_inline u8 object_of_fd(struct task_struct *task, u64 fd, u32 *dev)
{
	struct fdtable *table;
	struct inode *inode;
	struct file *file;
	u16 mode;

	/* Loads through a task that the verifier knows cost nothing; behind the array of files it
	 * knows no more. */
	table = untrusted(task)->files->fdt;
	if (fd >= table->max_fds)
		return OBJECT_FD;
	file = object_file(table->fd + fd);
	if (!file)
		return OBJECT_FD;
	inode = object_inode(file, &mode);
	switch (mode) {
	case MODE_SOCKET:
		return OBJECT_SOCKET;
	case MODE_REGULAR:
	case MODE_FOLDER:
		*dev = BPF_CORE_READ(inode, i_sb, s_dev);
		return OBJECT_DISK;
	case MODE_BLOCK:
		*dev = BPF_CORE_READ(inode, i_rdev);
		return OBJECT_DISK;
	case MODE_CHAR:
		if (is_gpu(BPF_CORE_READ(inode, i_rdev)))
			return OBJECT_GPU;
	}
	return OBJECT_FD;
}

static __always_inline void object_set(struct sched_state *s, u8 kind, u64 object)
{
	s->object_kind = kind;
	s->object = object;
	s->flags |= OFFCPU_OBJECT;
}

static __always_inline void object_disk(struct sched_state *s, u32 dev)
{
	s->object_kind = OBJECT_DISK;
	/* Without a major number it is the private number of a file system, not of a device. */
	if (dev >> 20)
		object_set(s, OBJECT_DISK, dev);
}

/* disk: it waits for one. lock: it may wait for other processes. Returns whether a file or socket
 * is behind fd. A call on a file waits for its file system, in the kernel's eyes for a disk or not
 * (in user space, across the network). */
static __always_inline bool object_fd(struct sched_state *s, struct task_struct *task, u64 fd,
				      bool disk, bool lock)
{
	u32 dev = 0;
	u8 kind = object_of_fd(task, (u32)fd, &dev);

	if ((disk || !lock) && kind == OBJECT_DISK)
		object_disk(s, dev);
	else if (disk && kind == OBJECT_FD)
		object_disk(s, dev);
	else
		object_set(s, kind == OBJECT_DISK ? OBJECT_FD : kind, (u32)fd);
	return s->object_kind == OBJECT_SOCKET || (kind == OBJECT_DISK && !lock);
}

/* The first descriptors of a poll: waiting for the GPU's driver looks like this, and one alone that
 * is a socket is how libraries wait for it no longer than a timeout. Returns whether it is that. */
static __always_inline bool object_poll(struct sched_state *s, struct task_struct *task, u64 fds,
					u64 n, bool current)
{
	u32 i, dev = 0;
	u8 kind;
	s32 fd;

	s->object_kind = n ? OBJECT_POLL : OBJECT_TIMER;
	if (current && n == 1 && !bpf_probe_read_user(&fd, sizeof(fd), (void *)fds) && fd >= 0) {
		s->object = fd; /* without OFFCPU_OBJECT: not reported as the object */
		s->polled = POLLED_ONE;
	}
	for (i = 0; current && i < 2; i++) {
		if (i >= n || bpf_probe_read_user(&fd, sizeof(fd), (void *)(fds + 8 * i)) || fd < 0)
			break;
		kind = object_of_fd(task, fd, &dev);
		if (kind == OBJECT_GPU || (kind == OBJECT_SOCKET && n == 1)) {
			object_set(s, kind, fd);
			return kind == OBJECT_SOCKET;
		}
	}
	return 0;
}

/* Where to find the file or socket that a thread sleeps on. */
enum sleep_at {
	SLEEP_NOWHERE,
	SLEEP_FD,     /* the descriptor that is the first argument */
	SLEEP_POLLED, /* the descriptor that is the object */
	SLEEP_LOOKUP, /* a path that is being followed */
	SLEEP_STAT,   /* host.stat_dentry */
};

static __always_inline u64 path_followed(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->nameidata) || !bpf_core_type_exists(struct nameidata))
		return 0;
	return (u64)BPF_CORE_READ(task, nameidata);
}

/* Without a name, and with a flag that allows that, the call is about the descriptor's file. */
static __always_inline bool has_name(u64 address)
{
	char first = 0;

	return !bpf_probe_read_user(&first, 1, (void *)address) && first;
}

static __always_inline u32 device_of(struct dentry *dentry)
{
	return BPF_CORE_READ(dentry, d_sb, s_dev);
}

/* For any call that resolves a path: it waits for the file system it has reached, and then the path
 * describes the wait (true); or for the other end of a pipe, or a driver, that is being opened. */
static __always_inline bool object_path(struct sched_state *s, u64 address)
{
	struct nameidata *nd = (void *)address;
	struct dentry *dentry = BPF_CORE_READ(nd, path.dentry);
	struct inode *inode = BPF_CORE_READ(dentry, d_inode);
	u16 mode = BPF_CORE_READ(inode, i_mode) & MODE_TYPE;

	switch (mode) {
	case MODE_REGULAR:
	case MODE_FOLDER:
		object_disk(s, device_of(dentry));
		return 1;
	case MODE_BLOCK:
		object_disk(s, BPF_CORE_READ(inode, i_rdev));
		return 0;
	case MODE_CHAR:
		s->object_kind = is_gpu(BPF_CORE_READ(inode, i_rdev)) ? OBJECT_GPU : OBJECT_FD;
		return 0;
	default:
		s->object_kind = OBJECT_FD;
		return 0;
	}
}

/* It sleeps in the freezer: that of its cgroup of version 1 or the whole system's, which have a
 * mark of their own, or that of its cgroup of version 2, which has it sleep like one that waits for
 * a signal. The latter counts a thread that waits for a child of vfork() as frozen, but does not
 * set JOB_TRAP_FREEZE for it. */
static __always_inline bool is_frozen(struct task_struct *task, u32 state)
{
	if (state & STATE_FROZEN || task->flags & FLAG_FROZEN)
		return 1;
	if (!bpf_core_field_exists(task->frozen) || !(task->jobctl & JOB_TRAP_FREEZE))
		return 0;
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): a field has one of the sizes */
	return BPF_CORE_READ_BITFIELD(task, frozen);
}

/* For the lock of its own memory map: it is taken, somebody waits for it, and this one does not
 * hold it. */
static __always_inline bool waits_for_map(struct task_struct *task, u32 state)
{
	struct mm_struct *mm = task->mm;

	if (!(state & STATE_DEEP) || !mm || !bpf_core_field_exists(mm->mmap_lock.count))
		return 0;
	return mm->mmap_lock.count.counter & RWSEM_WAITERS &&
	       (mm->mmap_lock.owner.counter & ~RWSEM_OWNER_FLAGS) != (u64)task;
}

/* The task is leaving the CPU and will not run until something wakes it, or has left it long ago.
 * current: its memory can be read still. */
static __always_inline enum sleep_at object_of_sleep(struct sched_state *s,
						     struct task_struct *task,
						     struct host_state *host, struct pt_regs *regs,
						     u32 state, bool current)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): a field has one of the sizes */
	bool disk = BPF_CORE_READ_BITFIELD(task, in_iowait);
	u32 class;

	s->object_kind = OBJECT_NONE;
	s->polled = POLLED_NOT;
	if (state & STATE_STOPPED) {
		s->object_kind = OBJECT_STOP;
		return SLEEP_NOWHERE;
	}
	if (is_frozen(task, state)) {
		s->object_kind = OBJECT_FREEZER;
		return SLEEP_NOWHERE;
	}
	if (s->syscall < 0) {
		/* Not in a system call and not stopped: what sleeps on the way there and back are
		 * faults, and probes that wait for the memory map to be found in it. */
		s->object_kind = current && is_at_breakpoint(regs)     ? OBJECT_PROBE
				 : !disk && waits_for_map(task, state) ? OBJECT_MAP
								       : OBJECT_FAULT;
		return SLEEP_NOWHERE;
	}
	class = call_class(s->syscall);
	if (class == CALL_STAT_AT && current && !has_name(SYSCALL_ARG1(regs)))
		class = CALL_FD;
	else if (class == CALL_STAT_AT)
		class = CALL_STAT;
	if (class != CALL_STAT)
		host->stat_dentry = 0;
	switch (class) {
	case CALL_FD:
		return object_fd(s, task, SYSCALL_ARG0(regs), disk, 0) ? SLEEP_FD : SLEEP_NOWHERE;
	case CALL_LOCK:
		return object_fd(s, task, SYSCALL_ARG0(regs), disk, 1) ? SLEEP_FD : SLEEP_NOWHERE;
	case CALL_SYNC:
		return object_fd(s, task, SYSCALL_ARG0(regs), 1, 0) ? SLEEP_FD : SLEEP_NOWHERE;
	case CALL_FUTEX:
		object_set(s, OBJECT_FUTEX, SYSCALL_ARG0(regs));
		s->futex_op = SYSCALL_ARG1(regs) & FUTEX_CMD_MASK;
		s->futex_val = SYSCALL_ARG2(regs);
		s->flags |= OFFCPU_FUTEX;
		return SLEEP_NOWHERE;
	case CALL_FUTEX_WAIT:
		object_set(s, OBJECT_FUTEX, SYSCALL_ARG0(regs));
		s->futex_op = 0;
		s->futex_val = SYSCALL_ARG1(regs);
		s->flags |= OFFCPU_FUTEX;
		return SLEEP_NOWHERE;
	case CALL_FUTEX_VECTOR:
		s->object_kind = OBJECT_FUTEX;
		return SLEEP_NOWHERE;
	case CALL_SLEEP:
		s->object_kind = OBJECT_TIMER;
		return SLEEP_NOWHERE;
	case CALL_CHILD:
		s->object_kind = OBJECT_CHILD;
		return SLEEP_NOWHERE;
	case CALL_POLL:
		return object_poll(s, task, SYSCALL_ARG0(regs), SYSCALL_ARG1(regs), current)
			       ? SLEEP_POLLED
			       : SLEEP_NOWHERE;
	case CALL_SELECT:
		s->object_kind = (s32)SYSCALL_ARG0(regs) > 0 ? OBJECT_POLL : OBJECT_TIMER;
		return SLEEP_NOWHERE;
	case CALL_EPOLL:
		object_set(s, OBJECT_POLL, (u32)SYSCALL_ARG0(regs));
		s->polled = is_epoll_wait(s->syscall) ? POLLED_EPOLL : POLLED_NOT;
		return SLEEP_NOWHERE;
	case CALL_DISK:
		s->object_kind = OBJECT_DISK;
		return SLEEP_NOWHERE;
	case CALL_STAT:
	case CALL_STAT_AT:
	case CALL_OTHER:
		break;
	}
	if (path_followed(task))
		return object_path(s, path_followed(task)) ? SLEEP_LOOKUP : SLEEP_NOWHERE;
	if (class == CALL_STAT && host->stat_dentry) {
		object_disk(s, device_of((struct dentry *)host->stat_dentry));
		return SLEEP_STAT;
	}
	if (class == CALL_STAT)
		s->object_kind = OBJECT_DISK;
	if (disk)
		s->object_kind = OBJECT_DISK;
	else if (class == CALL_OTHER && waits_for_map(task, state))
		s->object_kind = OBJECT_MAP;
	return SLEEP_NOWHERE;
}

#endif
