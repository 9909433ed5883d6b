/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a mutex in another process's memory and finds the thread that its owner field names. The
 * words count only if the waiter is, behind the reading, still in the same futex call by /proc's
 * account.
 */
#include "lib/record/lock_owner.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "lib/base/number.h"
#include "lib/base/io.h"
#include "lib/host/proc.h"
#include "lib/host/text.h"

/* Words of a pthread_mutex_t of glibc on 64-bit machines, and its values (nptl/pthreadP.h). */
enum { WORD_LOCK, WORD_COUNT, WORD_OWNER, WORD_USERS, WORD_KIND };
#define CONTENDED      2
#define KIND_TYPE      3 /* normal, recursive, error checking, adaptive */
#define RECURSIVE      1
#define KIND_SHARED    128
#define KIND_KNOWN     0x3ff	 /* with robust, protocols, elision */
#define THREADS_MAX    (1 << 22) /* the kernel's own limit of numbers */
#define ANCESTORS      32
#define PROC_MAX       16384 /* bytes of a file of /proc */
#define SYS_FUTEX_WAIT 455   /* Linux 6.7: address, value */

static bool in_field(const uint32_t *w, struct lock_owner *out)
{
	bool recursive = (w[WORD_KIND] & KIND_TYPE) == RECURSIVE;

	if (w[WORD_LOCK] != CONTENDED || w[WORD_KIND] & ~(uint32_t)KIND_KNOWN || !w[WORD_OWNER] ||
	    w[WORD_OWNER] > THREADS_MAX || !w[WORD_USERS] || w[WORD_USERS] > THREADS_MAX ||
	    (w[WORD_COUNT] != 0) != recursive)
		return false;
	out->kind = LOCK_MUTEX;
	out->tid = w[WORD_OWNER];
	out->shared = w[WORD_KIND] & KIND_SHARED;
	return true;
}

bool lock_owner_asked(uint32_t op, uint32_t value)
{
	return op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2 ||
	       (op == FUTEX_WAIT && (value == CONTENDED || value & FUTEX_WAITERS));
}

bool lock_owner_parse(const uint32_t word[LOCK_WORDS], uint32_t op, uint32_t value,
		      struct lock_owner *out)
{
	*out = (struct lock_owner){ .kind = LOCK_NONE };
	if (!lock_owner_asked(op, value))
		return false;
	if (op == FUTEX_WAIT && value == CONTENDED)
		return in_field(word, out);
	if (op != FUTEX_WAIT)
		out->kind = LOCK_PI;
	else if (word[WORD_LOCK] & FUTEX_WAITERS)
		out->kind = LOCK_ROBUST;
	out->tid = word[WORD_LOCK] & FUTEX_TID_MASK;
	return out->kind != LOCK_NONE && out->tid && out->tid <= THREADS_MAX;
}

/* Whether it waits in that call, now. */
static bool waits_there(uint32_t tgid, uint32_t tid, uint64_t address)
{
	struct buf text = { 0 };
	struct err ignored = { 0 };
	uint64_t at = 0;
	char path[64];
	long nr = -1;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/syscall", tgid, tid);
	yes = read_file(path, &text, PROC_MAX, &ignored) == 0 &&
	      sscanf(buf_text(&text), "%ld %" SCNx64, &nr, &at) == 2 &&
	      (nr == SYS_futex || nr == SYS_FUTEX_WAIT) && at == address;
	buf_free(&text);
	return yes;
}

/* The number of a thread in its own pid namespace, the last of NSpid; 0: it is gone. */
static uint32_t inner_of(uint32_t tgid, uint32_t tid)
{
	struct buf text = { 0 };
	struct err ignored = { 0 };
	struct bytes line;
	uint64_t inner = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/status", tgid, tid);
	if (read_file(path, &text, PROC_MAX, &ignored) == 0) {
		const char *at;

		line = host_text_line(buf_bytes(&text), "NSpid:");
		at = line.n ? memrchr(line.p, '\t', line.n) : NULL;
		at = at ? at + 1 : line.p;
		number_scan(&at, line.p + line.n, 10, UINT32_MAX, &inner);
	}
	buf_free(&text);
	return (uint32_t)inner;
}

/* The thread of the process that has this number inside; 0: none. Most often it is the same
 * outside. */
static uint32_t thread_inside(uint32_t tgid, uint32_t inner)
{
	struct host_pids threads = { 0 };
	struct err ignored = { 0 };
	uint32_t found = 0;

	if (inner_of(tgid, inner) == inner)
		return inner;
	if (inner_of(tgid, tgid) == tgid)
		return 0; /* no namespace of its own */
	host_proc_threads(tgid, &threads, &ignored);
	for (size_t i = 0; i < threads.n && !found; i++)
		if (inner_of(tgid, threads.v[i]) == inner)
			found = threads.v[i];
	host_pids_free(&threads);
	return found;
}

static bool owned_by(uint32_t tgid, struct lock_owner *out)
{
	uint32_t tid = thread_inside(tgid, out->tid);
	struct err ignored = { 0 };
	struct host_stat stat;

	if (!tid || host_proc_thread(tgid, tid, &stat, &ignored) || stat.state == 'Z' ||
	    stat.state == 'X')
		return false;
	out->thread = tid;
	out->process = tgid;
	memcpy(out->comm, stat.comm, sizeof(out->comm));
	return true;
}

/* A lock that was held when the process was forked is owned by a thread of another one. */
static void find_elsewhere(uint32_t tgid, struct lock_owner *out)
{
	struct host_process p;
	struct err ignored = { 0 };

	for (int i = 0; i < ANCESTORS && host_proc_read(tgid, &p, &ignored) == 0; i++) {
		tgid = p.ppid;
		if (tgid <= 1 || owned_by(tgid, out))
			return;
	}
}

static void find_any(struct lock_owner *out)
{
	struct host_process p;
	struct err ignored = { 0 };

	if (host_proc_read(out->tid, &p, &ignored) == 0)
		owned_by(p.tgid, out);
}

bool lock_owner_read(uint32_t tgid, uint32_t tid, uint64_t address, uint32_t op, uint32_t value,
		     struct lock_owner *out)
{
	uint32_t word[LOCK_WORDS] = { 0 };
	struct iovec to = { word, sizeof(word) },
		     from = { (void *)(uintptr_t)address, sizeof(word) };
	ssize_t n = process_vm_readv((pid_t)tgid, &to, 1, &from, 1, 0);

	/* What ends at the end of a mapping is no pthread_mutex_t, but may be a word with its
	 * owner. */
	if (n < (ssize_t)sizeof(word[0]) || !lock_owner_parse(word, op, value, out) ||
	    (out->kind == LOCK_MUTEX && n < (ssize_t)sizeof(word)))
		return false;
	if (!owned_by(tgid, out))
		find_elsewhere(tgid, out);
	if (!out->thread && out->shared)
		find_any(out);
	return waits_there(tgid, tid, address);
}

struct bytes lock_owner_kind(enum lock_kind kind)
{
	static const char *const names[] = { "", "mutex", "robust mutex", "pi mutex" };

	return bytes_of(names[kind]);
}
