/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches in what is sorted: `bisect(i, low, high, v[i].end_ns <= at)` leaves in low the first i
 * of [low, high) for which that does not hold, or high where it holds for all. low and high are the
 * caller's variables, and both are changed; whatever comes before an i for which it holds has it
 * hold, too.
 */
#ifndef INGERO_BASE_BISECT_H
#define INGERO_BASE_BISECT_H

#include <stddef.h>

#define bisect(i, low, high, is_before)                   \
	for (size_t i; (low) < (high);) {                 \
		i = (low) + ((high) - (low)) / 2;         \
		if (is_before)                            \
			(low) = (__typeof__(low))(i + 1); \
		else                                      \
			(high) = (__typeof__(high))i;     \
	}

#endif
