/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How it went over time: how long each op took, and in which states the threads were that make calls, in equal spans which
 * double when there are too many. Memory is bounded by LAPSE_OPS ops, met first, of VIEW_COURSE spans each.
 */
#ifndef INGERO_ASK_LAPSE_H
#define INGERO_ASK_LAPSE_H

#include <stdbool.h>

#include "lib/event/event.h"
#include "lib/event/view.h"
#include "lib/attrib/line.h"

#define LAPSE_OPS 96

struct ask_lapse;

struct ask_lapse *ask_lapse_new(void); /* NULL: out of memory */
void ask_lapse_free(struct ask_lapse *c);

/* All false when out of memory. An event with a duration counts where it ended. */
bool ask_lapse_event(struct ask_lapse *c, const struct event *ev, const struct op_def *op);
/* A stretch that tiles its thread's time, spread over the spans it lies in. */
bool ask_lapse_piece(struct ask_lapse *c, const struct line_piece *p);

/* courses and states of the view, emptied before. */
bool ask_lapse_rows(const struct ask_lapse *c, struct view *v);

#endif
