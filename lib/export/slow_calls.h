/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls are slow for what they are: longer than three times the median of their operation on
 * their machine. The median is that of all calls before, worked out once in a second of the
 * recording's time, from the eleventh call on. Memory grows with operations.
 */
#ifndef INGERO_EXPORT_SLOW_CALLS_H
#define INGERO_EXPORT_SLOW_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/stat/sketch.h"

struct slow_calls_op {
	struct sketch durations; /* ns */
	uint64_t median_ns;	 /* 0: not known yet */
	int64_t known_ns;	 /* when it was worked out, or the first call ended */
};

/* Zero-initialised is empty. */
struct slow_calls {
	struct map by_op; /* machine and operation -> index + 1 */
	VEC(struct slow_calls_op) ops;
};

/* Counts the call, and says in *slow whether it is. node: world id. False: out of memory. */
bool slow_calls_add(struct slow_calls *s, uint32_t node, uint16_t op, int64_t end_ns,
		    uint64_t dur_ns, bool *slow);
void slow_calls_free(struct slow_calls *s);

#endif
