/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of threads that the kernel works for where they call nothing: it gives them memory that
 * they touch, and little else. A frame of the kernel's says so, innermost.
 */
#ifndef INGERO_WORLD_FAULT_STACK_H
#define INGERO_WORLD_FAULT_STACK_H

#include "lib/world/world.h"

/* The same stack below that frame; itself, where it is 0 or there is no room. */
uint32_t world_fault_stack(struct world *w, uint32_t stack);
bool world_is_fault(const struct world *w, uint32_t frame);

#endif
