/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical order of events: (end, node, thread, depth descending). Nodes and threads are
 * compared by what they are, not by their ids, so that the order does not depend on who was met
 * first; events without a thread come first.
 */
#ifndef INGERO_WORLD_EVENT_ORDER_H
#define INGERO_WORLD_EVENT_ORDER_H

#include "lib/event/event.h"
#include "lib/world/world.h"

/* < 0, 0, > 0 as a sorts before, with or after b. */
int world_event_order(const struct world *w, const struct event *a, const struct event *b);

#endif
