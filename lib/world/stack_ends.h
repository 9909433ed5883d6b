/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far stacks reach. Native frames are found by frame pointers: where code keeps none the walk ends, and what called
 * it is missing. Over distinct stacks, weighted by the events that have them: how many reach main or the start of a
 * thread, and in which module the others end.
 */
#ifndef INGERO_WORLD_STACK_ENDS_H
#define INGERO_WORLD_STACK_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/world/world.h"

/* Deeper stacks are cut by who recorded them; they end nowhere in particular. */
#define STACK_ENDS_DEEP 127

struct stack_ends_row {
	uint64_t events;
	uint32_t ctx; /* of the first of them */
};

/* Zero-initialised counts nothing. */
struct stack_ends {
	VEC(struct stack_ends_row) rows; /* by world stack id */
};

/* One more event with this stack (0: without any, not counted) and ctx. False: out of memory. */
bool stack_ends_add(struct stack_ends *s, uint32_t stack, uint32_t ctx);
void stack_ends_free(struct stack_ends *s);

struct stack_ends_module {
	uint32_t module; /* world id, 0: code of no file */
	uint64_t events;
};

struct stack_ends_sum {
	uint64_t events;		    /* with a native stack */
	uint64_t whole;			    /* of these: reach main or the start of a thread */
	uint64_t deep;			    /* cut for their depth */
	VEC(struct stack_ends_module) ends; /* of the others, most events first */
};

/* Names of functions decide: those known by now. *sum is emptied first; to be freed. False: out of memory. */
bool stack_ends_count(const struct stack_ends *s, const struct world *w,
		      struct stack_ends_sum *sum);
/* For people, appended: "; 12.0% end in libtorch.so, 1.0% in libfoo.so (built without frame pointers)". At most so many
 * modules; nothing where none end. */
void stack_ends_text(const struct stack_ends_sum *sum, const struct world *w, unsigned most,
		     struct buf *out);
void stack_ends_sum_free(struct stack_ends_sum *sum);

#endif
