/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several rising lists of numbers as one, two of them at a time: no branch depends on a number, and
 * both ends of what comes out are written at once, so that one comparison need not wait for the
 * other.
 */
#ifndef INGERO_INPUT_KWAY_MERGE_H
#define INGERO_INPUT_KWAY_MERGE_H

#include <stddef.h>
#include <stdint.h>

#define INPUT_KWAY_MERGE 64 /* lists at a time */
#define INPUT_KWAY_MERGE_ROOM \
	2048 /* numbers in all of them: two copies stay in the nearest caches */

struct input_kway_merge {
	unsigned n;
	uint32_t end; /* where the next list begins */
	struct {
		uint32_t at, n;
	} each[INPUT_KWAY_MERGE];
	/* Each list stands between a 0 and a UINT64_MAX, which no number in it may be. */
	uint64_t a[INPUT_KWAY_MERGE_ROOM + 2 * INPUT_KWAY_MERGE],
		b[INPUT_KWAY_MERGE_ROOM + 2 * INPUT_KWAY_MERGE];
};

void input_kway_merge_begin(struct input_kway_merge *s);
/* Where n > 0 numbers are to be put, none below the one before it. The same number may stand twice
 * in one list, never in two. */
uint64_t *input_kway_merge_add(struct input_kway_merge *s, uint32_t n);
/* All of them, *n numbers, until the next call. */
const uint64_t *input_kway_merge_merge(struct input_kway_merge *s, size_t *n);

#endif
