/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells a program's own executable and libraries from those that are installed on the machine for
 * all programs.
 */
#ifndef INGERO_WORLD_MODULE_OWNER_H
#define INGERO_WORLD_MODULE_OWNER_H

#include <stdbool.h>

#include "lib/base/bytes.h"
#include "lib/world/world.h"

/* A path of a module, whether it is a library that programs share: by its folder, or its name of an
 * interpreter. */
bool module_is_shared(struct bytes path);

/* Whether the frame is native and its module is known to be the program's own. */
static inline bool module_is_own(const struct world *w, const struct world_frame *frame)
{
	const struct world_module *m = world_get_module(w, frame->module);

	return frame->kind == FRAME_NATIVE && m && !m->shared;
}

#endif
