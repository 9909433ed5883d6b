/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way events travel between rooms: a pull stream of items in stream order. Sources (ige
 * reader, generators, archive, k-way join) implement it; filters wrap it; sinks pull from it.
 * All ids in items are ids of the world the source was opened with.
 */
#ifndef INGERO_EVENT_STREAM_H
#define INGERO_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/event/event.h"
#include "lib/event/record.h"

enum stream_kind {
	STREAM_EVENTS,	/* events[0..n), in stream order; n may be 0 (heartbeat) */
	STREAM_RECORD,	/* one record */
	STREAM_SEGMENT, /* a segment begins: continuity of ids is kept by the world, of time by the
			   clock */
	STREAM_LAST,	/* the recording ended cleanly here (more segments may follow) */
};

struct ige_merge_columns;

struct stream_item {
	enum stream_kind kind;
	const struct event *events; /* borrowed until the next call */
	size_t n;
	const struct ige_merge_columns
		*weave; /* instead of them, for who asked for it: see ige/merge_columns.h */
	const struct record *record; /* borrowed until the next call */
	bool late; /* events arrived too late to be sorted in: order holds within the item only */
	uint64_t lost;	      /* events known lost since the previous EVENTS item */
	int64_t watermark_ns; /* nothing later in the stream ends before this (INT64_MIN unknown) */
	int64_t floor_ns; /* nothing later starts before this, except calls named by OPEN records */
	int64_t real_minus_mono_ns; /* of a SEGMENT: how its clock stood to UTC when it began; 0:
				       nobody says */
	/* events that a source left out here, since their time was not asked for; when they
	 * were: */
	uint64_t skipped;
	int64_t skipped_from_ns, skipped_to_ns;
};

struct event_stream {
	/* 1: *item filled; 0: end of input; < 0: error (damage that could be skipped is not an
	 * error here: the source counts it and says so at the end). */
	int (*next)(struct event_stream *s, struct stream_item *item, struct err *e);
	void (*close)(struct event_stream *s); /* frees s */
};

#endif
