/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that go on in children which execute nothing else and share their memory.
 */
#ifndef INGERO_WORLD_FORKS_H
#define INGERO_WORLD_FORKS_H

#include "lib/world/world.h"

/* Whether the process has several such children. */
bool world_forks(const struct world *w, uint32_t process);

#endif
