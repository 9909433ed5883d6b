/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers are those of Linux: arch/x86/entry/syscalls/syscall_64.tbl, and
 * include/uapi/asm-generic/unistd.h, which arm64 has. A call that one of them does not have is NONE
 * there. tests/unit/syscall.c holds them to this machine's headers.
 */
#include "lib/event/syscall.h"

#include <string.h>

#define NONE UINT16_MAX

static const struct {
	const char *name;
	uint16_t x86_64, aarch64;
} calls[] = {
	{ "read", 0, 63 },
	{ "write", 1, 64 },
	{ "open", 2, NONE },
	{ "close", 3, 57 },
	{ "stat", 4, NONE },
	{ "fstat", 5, 80 },
	{ "poll", 7, NONE },
	{ "mmap", 9, 222 },
	{ "mprotect", 10, 226 },
	{ "munmap", 11, 215 },
	{ "ioctl", 16, 29 },
	{ "pread64", 17, 67 },
	{ "pwrite64", 18, 68 },
	{ "readv", 19, 65 },
	{ "writev", 20, 66 },
	{ "select", 23, NONE },
	{ "sched_yield", 24, 124 },
	{ "msync", 26, 227 },
	{ "madvise", 28, 233 },
	{ "pause", 34, NONE },
	{ "nanosleep", 35, 101 },
	{ "sendfile", 40, 71 },
	{ "connect", 42, 203 },
	{ "accept", 43, 202 },
	{ "sendto", 44, 206 },
	{ "recvfrom", 45, 207 },
	{ "sendmsg", 46, 211 },
	{ "recvmsg", 47, 212 },
	{ "clone", 56, 220 },
	{ "vfork", 58, NONE },
	{ "execve", 59, 221 },
	{ "exit", 60, 93 },
	{ "wait4", 61, 260 },
	{ "semop", 65, 193 },
	{ "msgrcv", 70, 188 },
	{ "flock", 73, 32 },
	{ "fsync", 74, 82 },
	{ "fdatasync", 75, 83 },
	{ "rename", 82, NONE },
	{ "unlink", 87, NONE },
	{ "rt_sigtimedwait", 128, 137 },
	{ "rt_sigsuspend", 130, 133 },
	{ "sync", 162, 81 },
	{ "futex", 202, 98 },
	{ "io_getevents", 208, 4 },
	{ "getdents64", 217, 61 },
	{ "restart_syscall", 219, 128 },
	{ "semtimedop", 220, 192 },
	{ "clock_nanosleep", 230, 115 },
	{ "exit_group", 231, 94 },
	{ "epoll_wait", 232, NONE },
	{ "waitid", 247, 95 },
	{ "openat", 257, 56 },
	{ "newfstatat", 262, 79 },
	{ "unlinkat", 263, 35 },
	{ "pselect6", 270, 72 },
	{ "ppoll", 271, 73 },
	{ "splice", 275, 76 },
	{ "sync_file_range", 277, 84 },
	{ "epoll_pwait", 281, 22 },
	{ "fallocate", 285, 47 },
	{ "accept4", 288, 242 },
	{ "preadv", 295, 69 },
	{ "pwritev", 296, 70 },
	{ "recvmmsg", 299, 243 },
	{ "syncfs", 306, 267 },
	{ "sendmmsg", 307, 269 },
	{ "preadv2", 327, 286 },
	{ "pwritev2", 328, 287 },
	{ "io_pgetevents", 333, 292 },
	{ "io_uring_enter", 426, 426 },
	{ "epoll_pwait2", 441, 441 },
	{ "futex_waitv", 449, 449 },
};

enum syscall_arch syscall_arch_of(struct bytes machine)
{
	if (bytes_equal(machine, bytes_of("x86_64")))
		return SYSCALL_X86_64;
	return bytes_equal(machine, bytes_of("aarch64")) ? SYSCALL_AARCH64 : SYSCALL_UNKNOWN;
}

const char *syscall_name(enum syscall_arch arch, uint64_t number)
{
	if (arch == SYSCALL_UNKNOWN || number >= NONE)
		return NULL;
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if ((arch == SYSCALL_X86_64 ? calls[i].x86_64 : calls[i].aarch64) == number)
			return calls[i].name;
	return NULL;
}

bool syscall_syncs(uint64_t number)
{
	/* x86-64, then arm64: msync, fsync, fdatasync, sync, sync_file_range, syncfs */
	static const uint16_t numbers[] = { 26, 74, 75, 162, 277, 306, 227, 82, 83, 81, 84, 267 };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

bool syscall_reaps(uint64_t number)
{
	static const char *const names[] = { "io_getevents", "io_pgetevents", "io_uring_enter" };
	const char *name = syscall_name(SYSCALL_X86_64, number),
		   *other = syscall_name(SYSCALL_AARCH64, number);

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((name && strcmp(name, names[i]) == 0) ||
		    (other && strcmp(other, names[i]) == 0))
			return true;
	return false;
}

bool syscall_locks(uint64_t number)
{
	switch (number) {
	case 72: /* x86-64: fcntl, flock */
	case 73:
	case 25: /* arm64 */
	case 32:
		return true;
	default:
		return false;
	}
}

bool syscall_yields(uint64_t number)
{
	enum { YIELD_X86_64 = 24, YIELD_AARCH64 = 124 };

	return number == YIELD_X86_64 || number == YIELD_AARCH64;
}

bool syscall_sends(uint64_t number)
{
	return syscall_writes(SYSCALL_X86_64, number) || syscall_writes(SYSCALL_AARCH64, number);
}

bool syscall_writes(enum syscall_arch arch, uint64_t number)
{
	static const char *const names[] = { "write",  "writev",  "pwrite64", "pwritev", "pwritev2",
					     "sendto", "sendmsg", "sendmmsg", "sendfile" };
	const char *name = syscall_name(arch, number);

	for (unsigned i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}
