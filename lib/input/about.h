/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which machine a record is about: where recordings of several are written apart, each goes to its
 * own.
 */
#ifndef INGERO_INPUT_ABOUT_H
#define INGERO_INPUT_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/event/record.h"
#include "lib/world/world.h"

/* Its world id, by the first reference of r that leads to one; 0 when it does not say. */
uint32_t about_node(const struct world *w, const struct record *r);

/* A chain has no references: whether r is one that is of another machine than node (0: unknown) by
 * the name in its body. */
bool about_chain_elsewhere(const struct world *w, const struct record *r, uint32_t node);

#endif
