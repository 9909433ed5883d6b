/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The anatomy of a window: how much of it the anchor spent at each line of its loop, and why. Where
 * one line has nearly all of it, the lines of the function that it calls are shown instead, as far
 * as the program's own code goes. Rows sum to the window.
 */
#ifndef INGERO_TRACKS_ANATOMY_H
#define INGERO_TRACKS_ANATOMY_H

#include "lib/tracks/causes.h"

/* Where one line has so much of its function's time, the function that it calls tells more. */
#define ANATOMY_DESCEND 0.8
#define ANATOMY_SITE	0.6
/* Lines below this share of the window are one row. */
#define ANATOMY_MIN_SHARE 0.01
#define ANATOMY_DEPTH	  64

struct anatomy_row {
	/* World frame ids, with FRAME_FUNCTION (track_names.h) that of a function. */
	uint32_t frame; /* the line; 0: all others, and where no line is known */
	uint32_t site;	/* the call site below it that has ANATOMY_SITE of the row; 0: none */
	uint64_t ns;
	struct path_causes why;
};

struct anatomy {
	/* Frames from the loop down to the rows: the lines that have nearly all of the time. */
	uint32_t lead[ANATOMY_DEPTH];
	unsigned nlead;
	VEC(struct anatomy_row) rows; /* most time first, frame 0 last */
};

/* A function whose lines are the first level. frame 0: of native code, the calls that the program's
 * own functions make, from the outermost one on, and the function that was met at the end of them,
 * a signal's handler the outermost; else the lines of own_site.h, of whatever function. The dynamic
 * loader is one line. */
struct anatomy_root {
	uint32_t frame; /* world id of a Python frame of it */
	unsigned depth; /* Python frames around it */
};

/* False: out of memory. */
bool anatomy_make(struct anatomy *a, struct track_names *names, uint32_t anchor,
		  const struct anatomy_root *root, const struct track_parts *parts);
void anatomy_free(struct anatomy *a);

#endif
