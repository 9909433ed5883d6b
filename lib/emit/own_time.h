/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The own time of calls: their duration without that of the calls inside them, as far as those were recorded. Events
 * come in the order of their ends, inner calls before outer ones.
 */
#ifndef INGERO_EMIT_OWN_TIME_H
#define INGERO_EMIT_OWN_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/event.h"

/* Deeper calls count whole: no program nests library calls so deeply. */
#define OWN_TIME_DEPTH 8

struct own_time_thread {
	uint64_t inside[OWN_TIME_DEPTH +
			1]; /* by depth: time of calls there since the last call around them ended */
};

/* Zero-initialised is ready. */
struct own_time {
	struct map threads; /* world thread -> index + 1 */
	VEC(struct own_time_thread) v;
};

/* One more call of a thread, in stream order; *own becomes its own time. False: out of memory. */
bool own_time_call(struct own_time *o, uint32_t thread, const struct event *ev, uint64_t *own);
void own_time_free(struct own_time *o);

#endif
