// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * System calls in which a thread may sleep: their numbers, how each says what it waits for, and
 * where a thread's saved registers hold number and arguments. Calls of 32-bit programs on x86 are
 * not told apart.
 */
#ifndef INGERO_BPF_SYSCALLS_H
#define INGERO_BPF_SYSCALLS_H

#include "bpf/kernel.h"

/* Ways to sleep in a system call. */
enum call_class {
	CALL_OTHER,
	CALL_FD,	   /* first argument is a descriptor */
	CALL_LOCK,	   /* the same, and other processes may make it wait */
	CALL_SYNC,	   /* the same, and it waits for the disk */
	CALL_FUTEX,	   /* address, command, value */
	CALL_FUTEX_WAIT,   /* address, value */
	CALL_FUTEX_VECTOR, /* addresses in memory */
	CALL_SLEEP,
	CALL_CHILD,   /* clone and vfork: until the child executes */
	CALL_POLL,    /* array of struct pollfd, its length */
	CALL_SELECT,  /* highest descriptor + 1 */
	CALL_EPOLL,   /* first argument is the descriptor of many */
	CALL_DISK,    /* whole file systems, mappings */
	CALL_STAT,    /* the state of a file: its name looked up, then asked */
	CALL_STAT_AT, /* the same with the name behind a descriptor, or no name */
};

/* Class, name, number on x86-64 and on arm64. */
#define ABSENT(i) (456 + (i)) /* behind the last number: never looked up */
#define SYSCALLS(X)                                 \
	X(CALL_FD, read, 0, 63)                     \
	X(CALL_FD, write, 1, 64)                    \
	X(CALL_FD, close, 3, 57)                    \
	X(CALL_FD, ioctl, 16, 29)                   \
	X(CALL_FD, pread64, 17, 67)                 \
	X(CALL_FD, pwrite64, 18, 68)                \
	X(CALL_FD, readv, 19, 65)                   \
	X(CALL_FD, writev, 20, 66)                  \
	X(CALL_FD, sendfile, 40, 71)                \
	X(CALL_FD, connect, 42, 203)                \
	X(CALL_FD, accept, 43, 202)                 \
	X(CALL_FD, sendto, 44, 206)                 \
	X(CALL_FD, recvfrom, 45, 207)               \
	X(CALL_FD, sendmsg, 46, 211)                \
	X(CALL_FD, recvmsg, 47, 212)                \
	X(CALL_LOCK, fcntl, 72, 25)                 \
	X(CALL_LOCK, flock, 73, 32)                 \
	X(CALL_FD, ftruncate, 77, 46)               \
	X(CALL_FD, getdents, 78, ABSENT(0))         \
	X(CALL_FD, getdents64, 217, 61)             \
	X(CALL_FD, splice, 275, 76)                 \
	X(CALL_FD, fallocate, 285, 47)              \
	X(CALL_FD, accept4, 288, 242)               \
	X(CALL_FD, preadv, 295, 69)                 \
	X(CALL_FD, pwritev, 296, 70)                \
	X(CALL_FD, recvmmsg, 299, 243)              \
	X(CALL_FD, sendmmsg, 307, 269)              \
	X(CALL_FD, preadv2, 327, 286)               \
	X(CALL_FD, pwritev2, 328, 287)              \
	X(CALL_SYNC, fsync, 74, 82)                 \
	X(CALL_SYNC, fdatasync, 75, 83)             \
	X(CALL_SYNC, sync_file_range, 277, 84)      \
	X(CALL_SYNC, syncfs, 306, 267)              \
	X(CALL_FUTEX, futex, 202, 98)               \
	X(CALL_FUTEX_WAIT, futex_wait, 455, 455)    \
	X(CALL_FUTEX_VECTOR, futex_waitv, 449, 449) \
	X(CALL_SLEEP, nanosleep, 35, 101)           \
	X(CALL_SLEEP, clock_nanosleep, 230, 115)    \
	X(CALL_CHILD, clone, 56, 220)               \
	X(CALL_CHILD, vfork, 58, ABSENT(1))         \
	X(CALL_CHILD, wait4, 61, 260)               \
	X(CALL_CHILD, waitid, 247, 95)              \
	X(CALL_CHILD, clone3, 435, 435)             \
	X(CALL_POLL, poll, 7, ABSENT(2))            \
	X(CALL_POLL, ppoll, 271, 73)                \
	X(CALL_SELECT, select, 23, ABSENT(3))       \
	X(CALL_SELECT, pselect6, 270, 72)           \
	X(CALL_EPOLL, io_getevents, 208, 4)         \
	X(CALL_EPOLL, epoll_wait, 232, ABSENT(4))   \
	X(CALL_EPOLL, epoll_pwait, 281, 22)         \
	X(CALL_EPOLL, io_pgetevents, 333, 292)      \
	X(CALL_EPOLL, io_uring_enter, 426, 426)     \
	X(CALL_EPOLL, epoll_pwait2, 441, 441)       \
	X(CALL_STAT, stat, 4, ABSENT(5))            \
	X(CALL_FD, fstat, 5, 80)                    \
	X(CALL_STAT, lstat, 6, ABSENT(6))           \
	X(CALL_STAT_AT, newfstatat, 262, 79)        \
	X(CALL_STAT_AT, statx, 332, 291)            \
	X(CALL_DISK, msync, 26, 227)                \
	X(CALL_DISK, sync, 162, 81)

#if defined(__TARGET_ARCH_x86)
#define SYSCALL_CLASS(class, name, x86, arm64) [x86] = class,
#define SYSCALL_NUMBER(r)		       ((s32)(r)->orig_ax)
#define SYSCALL_ARG0(r)			       ((r)->di)
#define SYSCALL_ARG1(r)			       ((r)->si)
#define SYSCALL_ARG2(r)			       ((r)->dx)
#else
/* The kernel's own part of the frame, found by name (everything behind ___ is ours): the result
 * takes the place of the first argument, which is kept here. */
struct pt_regs___kernel {
	u64 orig_x0;
	s32 syscallno;
} __attribute__((preserve_access_index));
#define SYSCALL_CLASS(class, name, x86, arm64) [arm64] = class,
#define SYSCALL_NUMBER(r)		       (((struct pt_regs___kernel *)(r))->syscallno)
#define SYSCALL_ARG0(r)			       (((struct pt_regs___kernel *)(r))->orig_x0)
#define SYSCALL_ARG1(r)			       ((r)->regs[1])
#define SYSCALL_ARG2(r)			       ((r)->regs[2])
#endif

static const u8 call_classes[ABSENT(8)] = { SYSCALLS(SYSCALL_CLASS) };

static __always_inline u32 call_class(s32 nr)
{
	u32 i = nr;

	return i < ABSENT(0) ? call_classes[i] : CALL_OTHER;
}

/* Not what the class has besides, which waits for I/O. */
static __always_inline bool is_epoll_wait(s16 nr)
{
#if defined(__TARGET_ARCH_x86)
	return nr == 232 || nr == 281 || nr == 441;
#else
	return nr == 22 || nr == 441;
#endif
}

static __always_inline bool is_yield(s16 nr)
{
#if defined(__TARGET_ARCH_x86)
	return nr == 24;
#else
	return nr == 124;
#endif
}

#endif
