/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and threads from /proc. Everything is read without capabilities where the kernel allows
 * it; errors distinguish what is not permitted from what does not exist. Parsers take text, so that
 * they are tested without a process.
 */
#ifndef INGERO_HOST_PROC_H
#define INGERO_HOST_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/bytes.h"
#include "lib/base/err.h"

/*
 * Start times in /proc/PID/stat are counted in clock ticks of 10 ms since boot, rounded down, where
 * the kernel keeps nanoseconds of CLOCK_BOOTTIME. To find a process of /proc among those the kernel
 * announced, compare ticks: host_start_tick(kernel's start_boottime) == tick. A reader inside a
 * time namespace sees times shifted by the namespace's offset.
 */
#define HOST_TICK_NS 10000000ull
static inline uint64_t host_start_tick(uint64_t boot_ns)
{
	return boot_ns / HOST_TICK_NS;
}

struct host_stat { /* of a process or of one thread */
	uint32_t pid;
	uint32_t ppid;
	char state; /* R, S, D, Z, T … */
	char comm[64];
	uint32_t threads;
	uint32_t cpu;	     /* last run on */
	uint64_t start_tick; /* since boot */
	uint64_t user_ticks, system_ticks;
	uint64_t rss_pages;
};

struct host_status {
	uint32_t tgid;
	uint32_t ns_tgid; /* pid in its innermost namespace */
	uint32_t ppid;
	uint32_t uid, gid; /* effective */
	uint64_t rss_bytes;
};

struct host_schedstat {
	uint64_t run_ns;
	uint64_t wait_ns; /* runnable and not running */
	uint64_t slices;
};

bool host_stat_parse(struct bytes text, struct host_stat *out);
bool host_status_parse(struct bytes text, struct host_status *out);
bool host_schedstat_parse(struct bytes text, struct host_schedstat *out);

struct host_process {
	uint32_t tgid, ppid;
	uint32_t ns_tgid; /* 0: the same, or not known */
	uint32_t uid, gid;
	uint32_t threads;
	char state;
	uint64_t start_tick;
	uint64_t start_ns; /* start_tick in ns: up to 10 ms before the kernel's own value */
	char comm[64];
};

/* ERR_CANNOT when there is no such process; pid may be a thread's, tgid is then its process. */
int host_proc_read(uint32_t pid, struct host_process *out, struct err *e);

/* One thread, or the process's first when tid == tgid. */
int host_proc_thread(uint32_t tgid, uint32_t tid, struct host_stat *out, struct err *e);
int host_proc_schedstat(uint32_t tgid, uint32_t tid, struct host_schedstat *out, struct err *e);

/* What we may see of a process. */
enum host_sight {
	HOST_GONE,   /* there is none, or it has ended and only its parent has not noticed */
	HOST_DENIED, /* it is somebody else's: no maps, no executable */
	HOST_OPEN,
};
enum host_sight host_proc_sight(uint32_t pid);

/* Whether SIGKILL was sent to it and it has not ended yet: on a busy machine that takes a while. */
bool host_proc_killed(uint32_t pid);

/* Appended to out: the path of the executable as its own mount namespace names it (without "
 * (deleted)"), the arguments with blanks between. Empty for kernel threads. */
int host_proc_exe(uint32_t pid, struct buf *out, struct err *e);
int host_proc_cmdline(uint32_t pid, struct buf *out, struct err *e);

/* The name of a process whole, appended: the kernel keeps HOST_COMM_MAX bytes of it, and who calls
 * itself something longer (setproctitle, argv[0] of an exec) has the rest in its arguments. comm
 * where there is no more. */
#define HOST_COMM_MAX  15
#define HOST_TITLE_MAX 64 /* bytes; programs also put their state into their title */
void host_proc_title(uint32_t pid, struct bytes comm, struct buf *out);
/* The same from the arguments, each with a zero byte behind it. */
void host_title_parse(struct bytes comm, struct bytes args, struct buf *out);

/* A vec of pids. */
struct host_pids {
	uint32_t *v;
	size_t n, cap;
};
void host_pids_free(struct host_pids *pids);

/* Appended: the threads of a process; every process there is; pid and everything that descends from
 * it, as /proc shows in one pass: a process whose parent ended in between has left the tree. */
int host_proc_threads(uint32_t tgid, struct host_pids *out, struct err *e);
int host_proc_all(struct host_pids *out, struct err *e);
int host_proc_tree(uint32_t pid, struct host_pids *out, struct err *e);

#endif
