/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which recordings an archive holds whole. A recording is known by the id of its first segment, whatever its file is called,
 * and by how many bytes it had: it may go on.
 */
#ifndef INGERO_INPUT_HELD_H
#define INGERO_INPUT_HELD_H

#include "lib/input/inside.h"

/* Whether `archive` holds the recording o; *grown: there was less of it then. */
bool input_holds(const struct one *archive, const struct one *o, bool *grown);

#endif
