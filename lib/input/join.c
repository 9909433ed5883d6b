/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each input stands at an item; the join takes from the one whose next event is smallest, and
 * records as soon as they stand in front, since what follows them may refer to them. The number of
 * inputs is small (nodes of a job), so the smallest is found by looking at all.
 */
#include "lib/input/join.h"

#include <stdlib.h>

#include "lib/world/order.h"

#define BATCH 1024

struct lane {
	struct event_stream *stream;
	struct stream_item item;
	size_t next; /* event within item */
	int state;   /* 1 standing at item, 0 ended */
	int64_t watermark, floor;
};

struct join {
	struct event_stream stream;
	const struct world *world;
	unsigned n;
	bool told;     /* that all ended */
	uint64_t lost; /* told by lanes, not yet by us */
	struct event batch[BATCH];
	struct lane lanes[];
};

static int advance(struct lane *l, struct err *e)
{
	do {
		l->state = l->stream->next(l->stream, &l->item, e);
		l->next = 0;
		if (l->state <= 0) {
			l->watermark = l->floor = INT64_MAX;
			return l->state;
		}
	} while (l->item.kind == STREAM_LAST); /* told once, at the end of all */
	return 1;
}

/* Take what an exhausted events item knew about time, and move on. */
static int leave(struct lane *l, struct err *e)
{
	if (l->item.watermark_ns != INT64_MIN)
		l->watermark = l->item.watermark_ns;
	if (l->item.floor_ns != INT64_MIN)
		l->floor = l->item.floor_ns;
	return advance(l, e);
}

static void set_times(const struct join *j, struct stream_item *item)
{
	item->watermark_ns = item->floor_ns = INT64_MAX;
	for (unsigned i = 0; i < j->n; i++) {
		const struct lane *l = &j->lanes[i];

		if (l->watermark < item->watermark_ns)
			item->watermark_ns = l->watermark;
		if (l->floor < item->floor_ns)
			item->floor_ns = l->floor;
	}
	if (item->watermark_ns == INT64_MAX)
		item->watermark_ns = item->floor_ns = INT64_MIN;
}

static struct lane *smallest(struct join *j)
{
	struct lane *best = NULL;

	for (unsigned i = 0; i < j->n; i++) {
		struct lane *l = &j->lanes[i];

		if (l->state <= 0)
			continue;
		if (!best || world_event_order(j->world, &l->item.events[l->next],
					       &best->item.events[best->next]) < 0)
			best = l;
	}
	return best;
}

/* Without an event, but not only about time. */
static bool says_something(const struct stream_item *item)
{
	return item->n == 0 && (item->lost || item->skipped);
}

static int join_next(struct event_stream *s, struct stream_item *item, struct err *e)
{
	struct join *j = (struct join *)s;
	size_t n = 0;

	/* Bring every lane to an event, giving out what is no event on the way. */
	for (unsigned i = 0; i < j->n; i++) {
		struct lane *l = &j->lanes[i];

		while (l->state == 1 && (l->item.kind != STREAM_EVENTS || l->next >= l->item.n)) {
			int rc;

			if ((l->item.kind != STREAM_EVENTS || says_something(&l->item)) &&
			    !l->next) {
				*item = l->item;
				/* How far this lane has come says nothing about the others. */
				item->watermark_ns = item->floor_ns = INT64_MIN;
				l->next = 1; /* given */
				return 1;
			}
			rc = leave(l, e);
			if (rc < 0)
				return rc;
		}
		if (l->state == 1 && l->item.late && !l->next) {
			*item = l->item;
			l->next = l->item.n;
			return 1;
		}
		if (l->state == 1 && !l->next) {
			j->lost += l->item.lost;
			l->item.lost = 0;
		}
	}
	while (n < BATCH) {
		struct lane *l = smallest(j);

		if (!l)
			break;
		j->batch[n++] = l->item.events[l->next++];
		if (l->next == l->item.n)
			break; /* what follows may be a record: look again */
	}
	if (!n) {
		if (j->told)
			return 0;
		j->told = true;
		*item = (struct stream_item){ .kind = STREAM_LAST,
					      .watermark_ns = INT64_MIN,
					      .floor_ns = INT64_MIN };
		return 1;
	}
	*item = (struct stream_item){
		.kind = STREAM_EVENTS, .events = j->batch, .n = n, .lost = j->lost
	};
	j->lost = 0;
	set_times(j, item);
	return 1;
}

static void join_close(struct event_stream *s)
{
	free(s);
}

struct event_stream *input_join(const struct world *w, struct event_stream *const *streams,
				unsigned n)
{
	struct join *j = calloc(1, sizeof(*j) + n * sizeof(j->lanes[0]));

	if (!j)
		return NULL;
	j->stream = (struct event_stream){ join_next, join_close };
	j->world = w;
	j->n = n;
	for (unsigned i = 0; i < n; i++) {
		/* An empty item that is already given: the first call moves each lane to its first. */
		j->lanes[i] = (struct lane){ .stream = streams[i],
					     .state = 1,
					     .watermark = INT64_MIN,
					     .floor = INT64_MIN,
					     .item = { .kind = STREAM_EVENTS,
						       .watermark_ns = INT64_MIN,
						       .floor_ns = INT64_MIN } };
	}
	return &j->stream;
}
