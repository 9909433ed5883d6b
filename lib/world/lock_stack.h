/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that the kernel does not know as such, by the stacks of those that wait for them:
 * read-write locks of POSIX threads, which are counters, and threading.Lock and RLock of Python,
 * which are semaphores and may be anything.
 */
#ifndef INGERO_WORLD_LOCK_STACK_H
#define INGERO_WORLD_LOCK_STACK_H

#include <stdbool.h>

#include "lib/world/world.h"

/* Whether a thread that waits there waits for a lock that another one has, which is not a condition
 * made of one. False where CPython's own functions have no names. */
bool lock_stack_waits(const struct world *w, uint32_t stack);

#endif
