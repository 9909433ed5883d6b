/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of copies, each once: a copy may be a call of a library that makes it by a call of the
 * driver, and it may be made inside a call that is none. The inner call returns first and counts at
 * once; a copy around it counts what it says beyond.
 */
#ifndef INGERO_EXPORT_COPIED_H
#define INGERO_EXPORT_COPIED_H

#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"

/* Kept of a thread inside a call: more of one depth are held as one. */
#define COPIED_SPANS 16
/* Threads inside such calls at one time: with more, all are forgotten. */
#define COPIED_THREADS 4096

struct copied_span {
	int64_t start_ns;
	uint64_t bytes;
	uint32_t depth;
};

struct copied_thread {
	uint32_t id, n;
	struct copied_span spans[COPIED_SPANS]; /* of calls that have returned, oldest first */
};

/* Zero-initialised is empty. */
struct copied {
	struct map at; /* thread -> index of threads */
	VEC(struct copied_thread) threads;
};

/* Counts a call of this thread that returned and copied so many bytes (0: nothing, or no copy).
 * Returns how many of them are not counted yet. When out of memory, an enclosing copy counts them
 * again. */
uint64_t copied_call(struct copied *c, uint32_t thread, const struct event *ev, uint64_t bytes);
void copied_free(struct copied *c);

#endif
