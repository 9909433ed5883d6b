/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the host took time from threads: the off-CPU intervals and stolen stretches of line/, by state, spread over the time they
 * lasted. Sums are those of the pieces to the nanosecond. Memory is that of one series a state.
 */
#ifndef INGERO_ASK_COURSE_H
#define INGERO_ASK_COURSE_H

#include <stdbool.h>

#include "lib/event/view.h"
#include "lib/attrib/line.h"

/* Zero-initialised is empty. */
struct ask_course {
	struct series *lost[PART_COUNT]; /* NULL: none of it */
};

/* False: out of memory. */
bool ask_course_piece(struct ask_course *c, const struct line_piece *p);
void ask_course_rows(const struct ask_course *c, struct view *v); /* borrowed from c */
void ask_course_free(struct ask_course *c);

#endif
