/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording contains beside operations (event/section_rows.h): query/ops.h passes every
 * event, span of time and record, for the sections that are wanted. Events, records and time of a
 * section are those of the selection's time and processes; its names choose events, and say nothing
 * about where time went and what lives in a device.
 */
#ifndef INGERO_QUERY_SECTIONS_H
#define INGERO_QUERY_SECTIONS_H

#include <stdbool.h>

#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/event/section_rows.h"
#include "lib/attrib/line.h"
#include "lib/filter/filter.h"
#include "lib/world/world.h"

struct query_view;

/* sections: of VIEW_BIT. w and sel must outlive it. NULL: out of memory. */
struct query_view *query_view_new(struct world *w, struct filter *sel, unsigned sections);
void query_view_free(struct query_view *v);

/* All false when out of memory. process: world id, 0 unknown; selected: it is counted; late: line/
 * does not place it. */
bool query_view_event(struct query_view *v, const struct event *ev, const struct op_def *op,
		      uint32_t process, bool selected, bool late);
bool query_view_record(struct query_view *v, const struct record *rec);
/* Nothing later in the stream starts before this. INT64_MAX: there is no more. */
bool query_view_advance(struct query_view *v, int64_t floor_ns);

/* The listener that the span came from. */
enum query_view_piece { QUERY_VIEW_CALL, QUERY_VIEW_OUTSIDE, QUERY_VIEW_OFFCPU };
bool query_view_piece(struct query_view *v, enum query_view_piece what, const struct line_piece *p);

/* The answer so far, borrowed until asked again; culprits: of the analysis that made the spans.
 * NULL: out of memory. */
const struct view *query_view_rows(struct query_view *v, const struct culprits *culprits);

#endif
