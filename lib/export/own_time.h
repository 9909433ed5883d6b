/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The self time of calls: their duration without that of the calls inside them, as far as those are
 * here. Events come in the order of their ends, inner calls before outer ones; some may be missing,
 * lost or not asked for, inner and outer ones alike.
 */
#ifndef INGERO_EXPORT_OWN_TIME_H
#define INGERO_EXPORT_OWN_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"

/* Calls of a thread whose enclosing call is still open: beyond this the older ones are merged. */
#define OWN_TIME_HELD 1024

/* A call, or neighbours of one depth. */
struct own_time_span {
	int64_t start_ns;
	uint64_t ns;
	uint16_t depth;
};

struct own_time_thread {
	VEC(struct own_time_span) v;
};

/* Zero-initialised is ready. */
struct own_time {
	struct map threads; /* world thread -> index + 1 */
	VEC(struct own_time_thread) v;
};

/* One more call of a thread, in stream order; *own becomes its self time. False: out of memory. */
bool own_time_call(struct own_time *o, uint32_t thread, const struct event *ev, uint64_t *own);
void own_time_free(struct own_time *o);

#endif
