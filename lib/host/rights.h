/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops capabilities of the calling thread permanently. Threads and processes that it creates later
 * have no more than it; threads that exist already must drop theirs themselves.
 */
#ifndef INGERO_HOST_RIGHTS_H
#define INGERO_HOST_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/* Sets of capabilities, bit (1 << CAP_...). */
#define HOST_RIGHTS_NONE 0ull
/* What goes on recording: attaching to what is loaded later, reading of other users' processes and
 * of files that are mapped there. CAP_SYS_ADMIN is in it only for who has not the one that stands
 * for it since Linux 5.9. */
uint64_t host_rights_recording(void);
/* Making, handing over and removing files in folders of others. as_owner: also as the one whom they
 * will belong to. */
uint64_t host_rights_files(bool as_owner);
/* Signals to processes of other users. */
uint64_t host_rights_signals(void);
/* Attaching by perf events, switching the kernel's measuring of programs on and off: neither has a
 * right of its own. */
uint64_t host_rights_admin(void);

/* The calling thread keeps of these what it has, and no program that it executes gets more. 0, or
 * errno. */
int host_rights_keep(uint64_t rights);

#endif
