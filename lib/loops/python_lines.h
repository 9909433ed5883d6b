/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python frames of stacks as pairs of a function and a line, outermost first: what steps of
 * programs are found by. Native frames between them are left out. Memory grows with distinct
 * stacks, each of which is decoded once.
 *
 * The event loop of asyncio runs what its tasks do between two awaits. Its own functions have no
 * lines here: in which order it runs its tasks says nothing of any of them.
 */
#ifndef INGERO_LOOPS_PYTHON_LINES_H
#define INGERO_LOOPS_PYTHON_LINES_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/world/world.h"

struct python_line {
	uint32_t function; /* dense number of (name, file), from 1 */
	uint32_t line;	   /* 0: not known */
};

struct python_stack {
	uint32_t first, n; /* of lines; n 0: an event loop between two of its tasks, too */
	uint32_t task;	   /* the first line of a task of an event loop; 0: none */
	bool decoded;
};

struct python_lines {
	const struct world *w;
	struct map functions;		   /* name and file -> number */
	VEC(uint32_t) function_frames;	   /* a frame of each, by number - 1 */
	VEC(struct python_line) of_frames; /* by world frame id; function 0: not known yet */
	VEC(struct python_line) lines;
	VEC(struct python_stack) stacks; /* by world stack id */
};

void python_lines_init(struct python_lines *p, const struct world *w);
void python_lines_free(struct python_lines *p);

/* False: out of memory. *v is valid until the next call; *n may be 0. *task: as that of struct
 * python_stack. */
bool python_lines_get(struct python_lines *p, uint32_t stack, const struct python_line **v,
		      unsigned *n, unsigned *task);

/* A frame of that function, for its name and file; 0: there is none of that number. */
uint32_t python_lines_frame(const struct python_lines *p, uint32_t function);

#endif
