/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call that a stack was taken in, by the names of its functions: of waits and CPU samples while
 * the probes of that call were detached, so that no event of it is there.
 */
#ifndef INGERO_LOOPS_STACK_CALLS_H
#define INGERO_LOOPS_STACK_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/world/world.h"

struct stack_call {
	bool looked_at; /* and nothing will change it */
	bool sync;	/* it, or one inside of it, waits for the device */
	uint16_t op;	/* the outermost; 0: none */
};

/* Zero-initialised is empty. */
struct stack_calls {
	struct map by_name;	  /* hash of an op's name -> op */
	VEC(struct stack_call) v; /* by world stack id */
};

/* *found stays valid until the next use. False: out of memory. */
bool stack_calls_find(struct stack_calls *s, const struct world *w, uint32_t stack,
		      const struct stack_call **found);
void stack_calls_free(struct stack_calls *s);

#endif
