/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait that goes on, as an ASLEEP record: the events it would be if it ended then. Converts both
 * ways, so that reports about it are the same before its end and after.
 */
#ifndef INGERO_EVENT_ONGOING_WAIT_H
#define INGERO_EVENT_ONGOING_WAIT_H

#include <stdbool.h>

#include "lib/event/event.h"
#include "lib/event/record.h"

/* The ops that such a wait can be: the interval, then what it waits for. */
#define ASLEEP_OPS 3
extern const uint16_t asleep_ops[ASLEEP_OPS];

/* What this event of the thread says of its wait; others are ignored. Into a zeroed record: the
 * interval first. */
void asleep_add(struct record *r, const struct event *ev, uint32_t thread);

/* That event again, without a context. False: the record says nothing of this op, or makes no
 * sense. */
bool asleep_event(const struct record *r, const struct op_def *op, struct event *ev);

#endif
