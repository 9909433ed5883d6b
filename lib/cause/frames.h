/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame that a stack's site is told by (name_site_frame), looked up once per stack: stacks that differ only further
 * out are one place in the program.
 */
#ifndef INGERO_CAUSE_FRAMES_H
#define INGERO_CAUSE_FRAMES_H

#include "lib/base/map.h"
#include "lib/world/world.h"

/* Zero-initialised is empty; map_free. */
struct cause_frames {
	struct map by;
};

/* 0: there is no stack. */
uint32_t cause_frame(struct cause_frames *f, const struct world *w, uint32_t stack);

#endif
