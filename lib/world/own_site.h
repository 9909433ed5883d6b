/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place of a stack that a person would change, of a thread that others waited for: its call
 * site (call_site.h) or, in native code, the innermost frame of the program itself rather than of a
 * library that is installed on the machine.
 */
#ifndef INGERO_WORLD_OWN_SITE_H
#define INGERO_WORLD_OWN_SITE_H

#include "lib/base/map.h"
#include "lib/world/world.h"

struct own_site {
	uint32_t frame; /* 0: there is no stack */
	uint32_t inner; /* the innermost function that it called, where that has a name; 0: none */
};

/* Whether it is of the dynamic loader, which loads libraries and looks up what they hold. */
bool own_site_is_loader(const struct world *w, uint32_t frame);

struct own_site own_site_of(const struct world *w, uint32_t stack);

/* Those of all stacks that were asked for. Zero-initialised is empty; map_free(&o.by). */
struct own_sites {
	struct map by; /* stack -> inner frame and frame */
};

struct own_site own_sites_get(struct own_sites *o, const struct world *w, uint32_t stack);

#endif
