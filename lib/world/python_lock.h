/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of Python programs, threading.Lock and RLock, by the stacks of those that wait for them.
 * The kernel sees a semaphore, which may be anything.
 */
#ifndef INGERO_WORLD_PYTHON_LOCK_H
#define INGERO_WORLD_PYTHON_LOCK_H

#include <stdbool.h>

#include "lib/world/world.h"

/* Whether a thread that waits there waits for a lock that another one has, which is not a condition
 * made of one. False where CPython's own functions have no names. */
bool python_lock_waits(const struct world *w, uint32_t stack);

#endif
