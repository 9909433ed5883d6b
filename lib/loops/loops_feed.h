/* SPDX-License-Identifier: Apache-2.0 */
/* A recording's stream into loops: events, pauses and what was lost. */
#ifndef INGERO_LOOPS_LOOPS_FEED_H
#define INGERO_LOOPS_LOOPS_FEED_H

#include "lib/event/stream.h"
#include "lib/loops/loops.h"

/* Zero-initialised but for loops is ready for the first item. */
struct loops_feed {
	struct loops *loops;
	int64_t previous_ns; /* end of the last event; valid when has_events */
	bool has_events;
};

int loops_feed_item(struct loops_feed *f, const struct stream_item *item, struct err *e);

#endif
