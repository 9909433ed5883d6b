/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few facts about a process that attaching needs from /proc. Whatever cannot be read is 0 or empty: processes
 * end while they are looked at.
 */
#ifndef INGERO_PROBE_PROCFS_H
#define INGERO_PROBE_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/buf.h"

bool procfs_alive(uint32_t tgid);
uint64_t procfs_start(uint32_t tgid); /* CLOCK_BOOTTIME, in clock ticks as the kernel shows them; ns */
uint64_t procfs_age(uint32_t tgid);   /* ns */
uint64_t procfs_exe_inode(uint32_t tgid);
int procfs_uid(uint32_t tgid, uid_t *uid);   /* real uid; < 0: gone */
uint32_t procfs_parent(uint32_t tgid);
void procfs_exe(uint32_t tgid, struct buf *out);
void procfs_cmdline(uint32_t tgid, struct buf *out); /* blank separated */
void procfs_comm(uint32_t tgid, struct buf *out);
void procfs_cgroup(uint32_t tgid, struct buf *out); /* path in the unified hierarchy */

/* Every process of the machine. */
void procfs_each(void (*fn)(void *ctx, uint32_t tgid), void *ctx);

#endif
