/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directions of copies, as the direction column numbers them (formats/ops.def).
 */
#ifndef INGERO_EVENT_DIRECTION_H
#define INGERO_EVENT_DIRECTION_H

#include <stdint.h>

/* "H2D", "default" …; NULL for numbers that are none. */
const char *direction_code(uint64_t direction);
/* "host to device" …; the same. */
const char *direction_text(uint64_t direction);

#endif
