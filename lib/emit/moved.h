/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that calls moved, once each: what a call inside another one moves is what that one moves. Events come in the order of
 * their ends, inner calls before outer ones; whether there is an outer one is known when it comes, if it does.
 */
#ifndef INGERO_EMIT_MOVED_H
#define INGERO_EMIT_MOVED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"

/* Calls of a thread that wait for the one around them: of more of them the older ones are held to have none. */
#define MOVED_HELD 4096

struct moved_call {
	int64_t start_ns;
	uint64_t bytes;
	uint32_t row; /* the caller's */
	uint16_t depth;
};

struct moved_thread {
	VEC(struct moved_call) v;
};

/* Zero-initialised is ready. */
struct moved {
	struct map threads; /* world thread -> index + 1 */
	VEC(struct moved_thread) v;
};

/* One more call of a thread that moved bytes, in stream order. Afterwards *inside are the *n calls that were inside it, borrowed
 * until the next call. False: out of memory. */
bool moved_add(struct moved *m, uint32_t thread, const struct event *ev, uint32_t row,
	       uint64_t bytes, const struct moved_call **inside, size_t *n);
void moved_free(struct moved *m);

#endif
