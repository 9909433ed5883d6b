/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far stacks reach, and why no farther: over distinct stacks, weighted by the events that have
 * them, how many reach main or the start of a thread, and where and for which reason the others
 * end. A walk by unwind tables says so itself (enum world_stack_end); of one by frame pointers,
 * which can leave callers out unmarked, the names of functions decide.
 */
#ifndef INGERO_WORLD_STACK_ENDS_H
#define INGERO_WORLD_STACK_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/vec.h"
#include "lib/world/world.h"

/* Deeper stacks were cut by those who recorded how no walk went; they end nowhere in particular. */
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

/* Why a stack is not whole, and not just deep. */
enum stack_end_reason {
	END_FRAME_POINTERS, /* they led nowhere */
	END_NO_TABLE,
	END_NO_RULE,
	END_RUN_TIME_CODE, /* a frame is in no file: code made at run time, without unwind tables */
	END_GUESSED,	   /* a frame was found by the frame pointer alone */
	END_CHANGING,	   /* libraries were loaded or closed meanwhile */
	END_STUCK,
	END_UNREADABLE,
	END_REASONS
};
/* "no-table", for programs. */
const char *stack_end_reason_name(enum stack_end_reason reason);
/* "no unwind table", for people. */
const char *stack_end_reason_text(enum stack_end_reason reason);

struct stack_ends_module {
	uint32_t module; /* world id, 0: code of no file, or it is not known which */
	enum stack_end_reason reason;
	uint64_t events;
};

struct stack_ends_sum {
	uint64_t events;	       /* with a native stack */
	uint64_t whole;		       /* of these: reach main or the start of a thread */
	uint64_t deep;		       /* cut for their depth */
	uint64_t by_pointers;	       /* of all: walked by frame pointers, as the recording says */
	uint64_t walks_known;	       /* of all: the recording says how they were walked */
	unsigned deepest;	       /* native frames of those that were cut */
	uint64_t reasons[END_REASONS]; /* the others by reason */
	VEC(struct stack_ends_module) ends; /* and by module, most events first */
};

/* Names of functions decide: those known by now. *sum is emptied first; to be freed. False: out of
 * memory. */
bool stack_ends_count(const struct stack_ends *s, const struct world *w,
		      struct stack_ends_sum *sum);
/* For people, appended: "99.31% of 5 k reach main or a thread's start; 0.40% end in libtorch.so,
 * 0.20% in libfoo.so (no unwind table)". At most so many modules of each reason. Nothing is said of
 * no events. */
void stack_ends_text(const struct stack_ends_sum *sum, const struct world *w, unsigned most,
		     struct buf *out);
void stack_ends_sum_free(struct stack_ends_sum *sum);

#endif
