/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording's stream into a path: events, what was lost, and at the end the calls and sleeps that
 * had not ended.
 */
#ifndef INGERO_PATH_PATH_FEED_H
#define INGERO_PATH_PATH_FEED_H

#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/event/open_call.h"
#include "lib/event/stream.h"
#include "lib/path/path.h"
#include "lib/path/path_unended.h"

/* Zero-initialised but for path is ready for the first item. */
struct path_feed {
	struct path *path;
	struct unended_facts *unended; /* NULL: not collected */
	struct open_calls open;
	VEC(struct record) asleep; /* the latest of each thread */
	struct map asleep_by;	   /* thread -> position */
	int64_t end_ns;		   /* latest event or clock reading; valid when begun */
	int64_t previous_ns;	   /* end of the last event; valid when has_events */
	bool begun, has_events;
};

int path_feed_item(struct path_feed *f, const struct stream_item *item, struct err *e);

/* The stream is over. */
int path_feed_finish(struct path_feed *f, struct err *e);

void path_feed_free(struct path_feed *f);

#endif
