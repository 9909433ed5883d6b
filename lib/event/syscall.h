/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the system calls in which threads wait, by their number on the machine that was
 * recorded. Others have no name here: a thread rarely sleeps in them.
 */
#ifndef INGERO_EVENT_SYSCALL_H
#define INGERO_EVENT_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

enum syscall_arch { SYSCALL_UNKNOWN, SYSCALL_X86_64, SYSCALL_AARCH64 };

/* As uname -m and NODE records have it: "x86_64", "aarch64". */
enum syscall_arch syscall_arch_of(struct bytes machine);
/* "futex"; NULL when it is not known. */
const char *syscall_name(enum syscall_arch arch, uint64_t number);
/* Whether it hands bytes out, so that a wait in it is for who takes them; false where that is not
 * known. */
bool syscall_writes(enum syscall_arch arch, uint64_t number);
/* Of those that wait for a socket (OBJECT_SOCKET): whether it hands bytes to it. The numbers of all
 * machines: each is elsewhere a call that waits for no socket. */
bool syscall_sends(uint64_t number);
/* Whether it waits until a file, or its name, is on the disk: for requests that others make, too,
 * as the file system's journal does. The numbers of all machines: elsewhere they change names of
 * files, which may wait for the same, or never sleep. */
bool syscall_syncs(uint64_t number);
/* Of those that wait for several descriptors (OBJECT_POLL): whether it waits for requests that were
 * handed to the kernel before (io_uring, AIO). The numbers of all machines: each is no other such
 * call's elsewhere. */
bool syscall_reaps(uint64_t number);
/* Whether it waits for a lock on a file (flock; fcntl, which does not sleep for anything else),
 * where what it waits for is a descriptor. The numbers of all machines: elsewhere they wait for
 * several (OBJECT_POLL) or never sleep. */
bool syscall_locks(uint64_t number);
/* Whether it is sched_yield, of any machine: each number is elsewhere a call that never sleeps. */
bool syscall_yields(uint64_t number);

#endif
