/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function that makes a loop which was found by the calls that it repeats: the innermost one
 * that is on the stacks of all of them.
 */
#ifndef INGERO_TRACKS_LOOP_CALLER_H
#define INGERO_TRACKS_LOOP_CALLER_H

#include <stdint.h>

#include "lib/loops/loops.h"

struct loop_caller {
	uint32_t frame;			/* world id; 0: none is on all of them */
	uint64_t first_line, last_line; /* of its calls; 0: not known */
};

struct loop_caller loop_caller_of(const struct world *w, const struct loop *loop);

#endif
