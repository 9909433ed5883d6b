/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines make calls of the device in the steps of a loop, and which read values of tensors, or
 * move tensors, one by one. A line is one of Python, or a function of others.
 */
#ifndef INGERO_ACCOUNT_LINE_CALLS_H
#define INGERO_ACCOUNT_LINE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/map.h"
#include "lib/world/known_work.h"

struct cause;
struct track;
struct track_part;
struct track_parts;

/* Zero-initialised is empty. Keys are of an anchor and a line. */
struct line_calls {
	struct map calls;   /* makes calls in a good part of the steps -> 1 */
	struct map singles; /* does several in each of them -> which known work */
};

/* parts: those of the track's steps. False: out of memory. */
bool line_calls_note(struct line_calls *s, const struct cause *c, const struct track *t,
		     const struct track_parts *parts);

bool line_calls_makes(const struct line_calls *s, const struct cause *c, uint32_t anchor,
		      const struct track_part *p);

/* What the part's line does one by one, several times in each step: KNOWN_WORK_READS or _MOVES, to
 * which belongs what it computes between. KNOWN_WORK_OTHER: nothing. */
enum known_work line_calls_singles(const struct line_calls *s, const struct cause *c,
				   uint32_t anchor, const struct track_part *p);

void line_calls_free(struct line_calls *s);

#endif
