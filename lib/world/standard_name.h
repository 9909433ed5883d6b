/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of C++'s standard library: templates, which a compiler puts into whatever program uses
 * them. They are no place in that program.
 */
#ifndef INGERO_WORLD_STANDARD_NAME_H
#define INGERO_WORLD_STANDARD_NAME_H

#include <stdbool.h>

#include "lib/world/world.h"

/* Whether a function of that name, demangled, is one: "std::vector<float>::resize(unsigned long)",
 * "void std::sort<int*>(int*, int*)", "operator new(unsigned long)". */
bool standard_name(struct bytes name);

/* The same of a frame; false where it has no name. */
bool standard_frame(const struct world *w, uint32_t frame);

#endif
