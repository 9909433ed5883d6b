/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that follows another one in the same function, as training follows a loop that builds the
 * layers: jumps that land behind all lines of the loop before. Once it has more iterations than
 * that one, and that one's lines have not come again, it is the row's loop, and what came before
 * its first line is none of its iterations.
 */
#ifndef INGERO_LOOPS_LOOP_NEXT_H
#define INGERO_LOOPS_LOOP_NEXT_H

#include "lib/loops/loops_internal.h"

/* The level's function jumps back from its line to that one, between two calls, before the row
 * counts that. */
void loop_next_note(struct loop_row *row, const struct loop_level *level, uint32_t to, int64_t ns,
		    uint64_t calls);

/* Whether the loop before is over, for all that is known. After the row counted a jump. */
bool loop_next_is_loop(const struct loop_row *row);

/* From now on the row is the next loop's alone. Its first iteration. */
struct loop_begin loop_next_take(struct loop_row *row);

#endif
