/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which call of the C library a thread waits for another one, by the innermost frames of its
 * stack: what is to be changed depends on that more than on what the other one does.
 */
#ifndef INGERO_WORLD_WAITER_CALL_H
#define INGERO_WORLD_WAITER_CALL_H

#include "lib/world/world.h"

enum waiter_call {
	WAITER_OTHER,
	WAITER_MAPS,  /* it changes what is mapped, which one thread of a process does at a time */
	WAITER_REAPS, /* until a child process has ended */
	WAITER_RETRIES, /* it sleeps until it tries again to get SQLite's lock of a database */
};

enum waiter_call waiter_call_of(const struct world *w, uint32_t stack);

/* What to do about waits in it for another thread's work. */
const char *waiter_call_advice(enum waiter_call call);

#endif
