/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the host took time from threads: the off-CPU intervals and stolen stretches of line/, by
 * state, spread over the time they lasted. Sums are those of the pieces to the nanosecond. Memory
 * is that of one series a state.
 */
#ifndef INGERO_QUERY_LOSS_SERIES_H
#define INGERO_QUERY_LOSS_SERIES_H

#include <stdbool.h>

#include "lib/event/section_rows.h"
#include "lib/attrib/line.h"

/* Zero-initialised is empty. */
struct query_loss_series {
	struct series *lost[PART_COUNT]; /* NULL: none of it */
};

/* False: out of memory. */
bool query_loss_series_piece(struct query_loss_series *c, const struct line_piece *p);
void query_loss_series_rows(const struct query_loss_series *c,
			    struct view *v); /* borrowed from c */
void query_loss_series_free(struct query_loss_series *c);

#endif
