/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which recordings an archive holds whole. A recording is known by the id of its first segment,
 * whatever its file is called, and by how many bytes it had: it may go on.
 */
#ifndef INGERO_INPUT_HELD_H
#define INGERO_INPUT_HELD_H

#include "lib/input/inside.h"

enum input_held {
	INPUT_HELD_NOT,
	INPUT_HELD_SOME, /* of several, some and not all */
	INPUT_HELD_LESS, /* there was less of it then, or of one of them */
	INPUT_HELD_ALL,
};

/* How much of o, a recording or an archive that says which it has, `archive` holds. */
enum input_held input_holds(const struct one *archive, const struct one *o);

#endif
