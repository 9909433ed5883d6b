/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording tells beside its operations (event/view.h): told by ask/ops.h of every event, piece of time and record,
 * for the sections that are wanted. Events, records and time of a section are those of the selection's time and processes;
 * its names choose events, and say nothing about where time went and what lives in a device.
 */
#ifndef INGERO_ASK_SECTIONS_H
#define INGERO_ASK_SECTIONS_H

#include <stdbool.h>

#include "lib/event/event.h"
#include "lib/event/record.h"
#include "lib/event/section_rows.h"
#include "lib/attrib/line.h"
#include "lib/select/select.h"
#include "lib/world/world.h"

struct ask_view;

/* sections: of VIEW_BIT. w and sel must outlive it. NULL: out of memory. */
struct ask_view *ask_view_new(struct world *w, struct select *sel, unsigned sections);
void ask_view_free(struct ask_view *v);

/* All false when out of memory. process: world id, 0 unknown; selected: it is counted; late: line/ does not place it. */
bool ask_view_event(struct ask_view *v, const struct event *ev, const struct op_def *op,
		    uint32_t process, bool selected, bool late);
bool ask_view_record(struct ask_view *v, const struct record *rec);
/* Nothing later in the stream starts before this. INT64_MAX: there is no more. */
bool ask_view_floor(struct ask_view *v, int64_t floor_ns);

/* As line/ tells them. */
enum ask_view_piece { ASK_VIEW_CALL, ASK_VIEW_OUTSIDE, ASK_VIEW_OFFCPU };
bool ask_view_piece(struct ask_view *v, enum ask_view_piece what, const struct line_piece *p);

/* The answer so far, borrowed until asked again; culprits: of the line that told the pieces. NULL: out of memory. */
const struct view *ask_view_rows(struct ask_view *v, const struct culprits *culprits);

#endif
