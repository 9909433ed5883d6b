/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that calls moved, once each: what a call inside another one moves is what that one moves.
 * Events come in the order of their ends, inner calls before outer ones; whether there is an outer
 * one is known when it comes, if it does.
 */
#ifndef INGERO_EXPORT_COPIED_BYTES_H
#define INGERO_EXPORT_COPIED_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"

/* Calls of a thread whose enclosing call is still open: beyond this the older ones count as having
 * none. */
#define COPIED_BYTES_HELD 4096

struct copied_bytes_call {
	int64_t start_ns;
	uint64_t bytes;
	uint32_t row; /* the caller's */
	uint16_t depth;
};

struct copied_bytes_thread {
	VEC(struct copied_bytes_call) v;
};

/* Zero-initialised is ready. */
struct copied_bytes {
	struct map threads; /* world thread -> index + 1 */
	VEC(struct copied_bytes_thread) v;
};

/* One more call of a thread that moved bytes, in stream order. Afterwards *inside are the *n calls
 * that were inside it, borrowed until the next call. False: out of memory. */
bool copied_bytes_add(struct copied_bytes *m, uint32_t thread, const struct event *ev, uint32_t row,
		      uint64_t bytes, const struct copied_bytes_call **inside, size_t *n);
void copied_bytes_free(struct copied_bytes *m);

#endif
