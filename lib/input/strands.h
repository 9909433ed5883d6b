/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several rising lists of numbers as one, two of them at a time: no branch depends on a number, and both ends of what comes
 * out are written at once, so that one comparison need not wait for the other.
 */
#ifndef INGERO_INPUT_STRANDS_H
#define INGERO_INPUT_STRANDS_H

#include <stddef.h>
#include <stdint.h>

#define INPUT_STRANDS	   64	/* lists at a time */
#define INPUT_STRANDS_ROOM 2048 /* numbers in all of them: two copies stay in the nearest caches */

struct input_strands {
	unsigned n;
	uint32_t end; /* where the next list begins */
	struct {
		uint32_t at, n;
	} each[INPUT_STRANDS];
	/* Each list stands between a 0 and a UINT64_MAX, which no number in it may be. */
	uint64_t a[INPUT_STRANDS_ROOM + 2 * INPUT_STRANDS],
		b[INPUT_STRANDS_ROOM + 2 * INPUT_STRANDS];
};

void input_strands_begin(struct input_strands *s);
/* Where n > 0 numbers are to be put, none below the one before it. The same number may stand twice in one list, never in
 * two. */
uint64_t *input_strands_add(struct input_strands *s, uint32_t n);
/* All of them, *n numbers, until the next call. */
const uint64_t *input_strands_merge(struct input_strands *s, size_t *n);

#endif
