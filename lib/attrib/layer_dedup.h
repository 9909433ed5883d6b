/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thing done through several layers is reported once: an allocation seen in the runtime and in
 * the driver call inside it, a graph launched through both. The outermost call of a class is what
 * the program did; those of its class inside it are dropped. A call that lies in calls of other
 * kinds only waits until its thread's next call of any class, or until it is flushed: whether it
 * lies in one of its class is known then. Memory is bounded by threads.
 */
#ifndef INGERO_ATTRIB_LAYER_DEDUP_H
#define INGERO_ATTRIB_LAYER_DEDUP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/world/world.h"

struct once_call {
	struct event ev;
	const struct op_def *op;
	uint32_t process, thread;
	unsigned class; /* as the caller numbers them */
};

/* False: out of memory. */
typedef bool once_told(void *ctx, const struct once_call *call);

#define ONCE_WAITING 8 /* of one thread; the oldest is then told as it is */

struct once_thread {
	unsigned n;
	struct once_call v[ONCE_WAITING];
};

/* Zero-initialised is empty, once the first three are set. */
struct once {
	const struct world *w;
	once_told *told;
	void *ctx;
	VEC(struct once_thread *) by_thread; /* by world id; NULL: none waits or ever did */
	VEC(uint32_t) order; /* threads that had a call of a class, and are not forgotten */
	unsigned waiting;    /* of all threads */
};

/* The next event of a class, in stream order. Events without a thread are ignored. False: out of
 * memory. */
bool once_event(struct once *o, const struct event *ev, const struct op_def *op, unsigned class);

/* Reports the calls that ended before this; INT64_MAX: all of them. */
bool once_flush(struct once *o, int64_t before_ns);

/* No call of this thread waits any more, nor will one come: drops its state. */
void once_forget(struct once *o, uint32_t thread);

void once_free(struct once *o);

#endif
