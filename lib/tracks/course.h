/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How time on a path runs over the steps of a loop: whether a cause is there from a step on, up to
 * one, or grows from step to step. Amounts are kept in cells of equal length in time, which doubles
 * when there are too many: 144 bytes, however long the program runs.
 */
#ifndef INGERO_TRACKS_COURSE_H
#define INGERO_TRACKS_COURSE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"

#define COURSE_CELLS 32
#define COURSE_PARTS 16 /* of the steps, equally many in each */

/* Zero-initialised is empty. */
struct course {
	int64_t from_ns;
	unsigned shift; /* a cell is 1 << shift ns; 0: it is empty */
	float cells[COURSE_CELLS];
};

/* An amount between two times, spread over them; what lies before the first one is in its cell. */
void course_add(struct course *c, int64_t from_ns, int64_t to_ns, double amount);

/* When each part of the steps begins, and the last one ends; begin_ns[0] == the last one: they are
 * too few to be compared. */
struct course_grid {
	int64_t begin_ns[COURSE_PARTS + 1];
};

/* steps: an amount of 1 for each. */
struct course_grid course_grid_of(const struct course *steps);

/* Adds what of it lies in each part of the steps, ns in all. */
void course_spread(const struct course *c, const struct course_grid *grid, uint64_t ns,
		   float parts[COURSE_PARTS]);

/* What took ns in so many pieces in all of so many steps, ns in each part of them. */
struct course_of {
	const float *parts; /* COURSE_PARTS */
	const struct course_grid *grid;
	uint64_t ns, pieces, steps;
};

/* "from about step 101 on", "up to about step 50", or "growing from 1.2 ms a step ..."; nothing
 * where it has none of these shapes, or the steps do not: then it has another name elsewhere. */
void course_print(struct buf *out, const struct course_of *of);

#endif
