/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches the call site of each stack (call_site_frame): millions of events refer to a few thousand
 * stacks. Stacks that differ only further out share a site and are one place in the program.
 */
#ifndef INGERO_WORLD_SITE_FRAMES_H
#define INGERO_WORLD_SITE_FRAMES_H

#include "lib/base/map.h"
#include "lib/world/world.h"

/* Zero-initialised is empty; map_free(&f.by). */
struct site_frames {
	struct map by; /* stack -> frame */
};

/* 0: there is no stack. */
uint32_t site_frames_get(struct site_frames *f, const struct world *w, uint32_t stack);

#endif
