/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that were given more than once: the same file, a copy of it, or a copy that was not
 * finished.
 */
#ifndef INGERO_INPUT_COPIES_H
#define INGERO_INPUT_COPIES_H

#include "lib/input/inside.h"

/* Whether it can be read twice. */
static inline bool input_is_file(const struct one *o)
{
	return !o->unseekable || o->fd < 0;
}

/* For qsort of struct one: by head, then files that begin alike by the first byte in which they
 * differ. The beginning of one stands in front of it. */
int input_copies_order(const void *a, const void *b);

enum input_copy {
	INPUT_OTHER,
	INPUT_ALIKE,	 /* they begin with the same segment, and cannot be compared or go on
			    differently */
	INPUT_BEGINNING, /* what is in a is in b, which goes on */
	INPUT_SAME,
};

/* Of two that stand one behind the other in that order. */
enum input_copy input_copy_of(const struct one *a, const struct one *b);

#endif
