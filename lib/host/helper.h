/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of ours for what must not happen in the recorder itself. It holds nothing of it open
 * but one descriptor, hears no signals of the terminal, and ends with it.
 */
#ifndef INGERO_HOST_HELPER_H
#define INGERO_HOST_HELPER_H

#include <sys/types.h>

#define HOST_HELPER_FD 3 /* where it has the descriptor */

/* name: at most 15 bytes. It ends when serve returns. Its process id, -1 with errno. */
pid_t host_helper_start(const char *name, int fd, void (*serve)(void));
/* Ends it; one that hangs in the kernel is left to init. */
void host_helper_stop(pid_t pid);

#endif
