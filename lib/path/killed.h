/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that a signal ended: the wait that such a thread was in ends when the signal comes, but
 * had not ended for the program.
 */
#ifndef INGERO_PATH_KILLED_H
#define INGERO_PATH_KILLED_H

#define KILLED_SIGNAL 0x7f /* of an exit status: the signal that ended the thread (wait(2)) */

/* What the kernel does between the wake-up and the end of such a thread takes less. */
#define KILLED_DYING_NS 100000000

#endif
