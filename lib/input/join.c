/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each input stands at an item; a tree of losers says whose event is next, and records go out as
 * soon as their lane stands at them, since what follows them may refer to them. A lane is looked at
 * again only when its item is used up, so that the cost of an event grows with the logarithm of
 * the number of inputs and not with their number.
 */
#include "lib/input/join_internal.h"

#include <stdlib.h>

#include "lib/world/event_order.h"

static bool is_lane_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct join *j = arg;
	struct event x = join_place(j, a), y = join_place(j, b);
	int order = world_event_order(j->world, &x, &y);

	return order ? order < 0 : a < b;
}

/* Keeps the time floor of the used item and reads the lane's next item. */
static void read_next_item(struct join *j, struct lane *l)
{
	if (l->item.kind == STREAM_EVENTS && l->item.floor_ns != INT64_MIN)
		l->floor = l->item.floor_ns;
	do {
		l->state = l->stream->next(l->stream, &l->item, &j->err);
		l->next = 0;
		if (l->state <= 0)
			l->floor = INT64_MAX;
	} while (l->state > 0 && l->item.kind == STREAM_LAST); /* told once, at the end of all */
	join_stand(j, l);
}

/* Without an event, but not only about time. */
static bool says_something(const struct stream_item *item)
{
	return item->n == 0 && (item->lost || item->skipped);
}

/* Moves the lane to its next event. 1: *item is to go out first; 0: the lane is at an event, or has
 * ended. */
static int advance_lane(struct join *j, struct lane *l, struct stream_item *item)
{
	while (l->state > 0) {
		bool events = l->item.kind == STREAM_EVENTS;

		if (!l->next && (!events || l->item.late || says_something(&l->item))) {
			*item = l->item;
			/* How far this lane has come says nothing about the others. */
			item->watermark_ns = item->floor_ns = INT64_MIN;
			l->next = events && l->item.n ? l->item.n : 1; /* given */
			return 1;
		}
		if (events && l->next < l->item.n)
			break;
		read_next_item(j, l);
	}
	if (l->state > 0) {
		j->lost += l->item.lost;
		l->item.lost = 0;
	}
	return 0;
}

/* Looking at all lanes costs their number: only once for as many events. */
static void set_times(struct join *j, struct stream_item *item)
{
	uint64_t key = input_tree_first_key(&j->tree);

	/* Whose turn it is tells how far all have come. */
	item->watermark_ns = key == INPUT_TREE_ENDED ? INT64_MIN : input_tree_time(key);
	item->floor_ns = INT64_MIN;
	j->untimed += item->n;
	if (key == INPUT_TREE_ENDED || j->untimed < j->n)
		return;
	j->untimed = 0;
	item->floor_ns = INT64_MAX;
	for (unsigned i = 0; i < j->n; i++)
		if (j->lanes[i].floor < item->floor_ns)
			item->floor_ns = j->lanes[i].floor;
	if (item->floor_ns == INT64_MAX)
		item->floor_ns = INT64_MIN;
}

static size_t fill_batch(struct join *j)
{
	size_t n = 0;

	while (n < BATCH && input_tree_first_key(&j->tree) != INPUT_TREE_ENDED &&
	       !j->sheets[input_tree_first(&j->tree)]) {
		struct lane *l = &j->lanes[input_tree_first(&j->tree)];

		j->batch[n++] = l->item.events[l->next++];
		if (l->next == l->item.n) {
			read_next_item(j, l);
			if (l->state < 0 || (l->state > 0 && (l->item.kind != STREAM_EVENTS ||
							      !l->item.n || l->item.late))) {
				/* Something else stands there first: the batch ends here. */
				j->unsettled = input_tree_first(&j->tree);
				return n;
			}
			if (l->state > 0) {
				j->lost += l->item.lost;
				l->item.lost = 0;
			}
		}
		input_tree_replace(&j->tree, join_key(j, input_tree_first(&j->tree)));
	}
	return n;
}

static int join_next(struct event_stream *s, struct stream_item *item, struct err *e)
{
	struct join *j = (struct join *)s;
	size_t n;

	while (j->unsettled < j->n) {
		struct lane *l = &j->lanes[j->unsettled];

		if (advance_lane(j, l, item))
			return 1;
		if (l->state < 0) {
			if (e)
				*e = j->err;
			return l->state;
		}
		if (j->built) {
			input_tree_replace(&j->tree, join_key(j, j->unsettled));
			j->unsettled = j->n;
			continue;
		}
		j->keys[j->unsettled] = join_key(j, j->unsettled);
		if (++j->unsettled == j->n) {
			input_tree_build(&j->tree, j->keys, j->n);
			j->built = true;
		}
	}
	*item = (struct stream_item){ .watermark_ns = INT64_MIN, .floor_ns = INT64_MIN };
	n = fill_batch(j);
	if (!n && (n = join_rows(j)))
		item->weave = &j->weave;
	if (!n) {
		if (j->told)
			return 0;
		j->told = true;
		item->kind = STREAM_LAST;
		return 1;
	}
	item->kind = STREAM_EVENTS;
	item->events = item->weave ? NULL : j->batch;
	item->n = n;
	item->lost = j->lost;
	j->lost = 0;
	if (j->unsettled == j->n)
		set_times(j, item);
	else if (item->weave)
		item->watermark_ns = j->ends[n - 1];
	return 1;
}

static void join_close(struct event_stream *s)
{
	struct join *j = (struct join *)s;

	input_tree_free(&j->tree);
	free(j->keys);
	free(j->sheets);
	free(j->places);
	free(j);
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
	j->keys = calloc(n, sizeof(*j->keys));
	j->tree.before = is_lane_before;
	j->tree.arg = j;
	j->sheets = calloc(n, sizeof(*j->sheets));
	j->places = calloc(n, sizeof(*j->places));
	if (!j->keys || !j->sheets || !j->places || !input_tree_init(&j->tree, n)) {
		free(j->keys);
		free(j->sheets);
		free(j->places);
		free(j);
		return NULL;
	}
	for (unsigned i = 0; i < n; i++) {
		/* An empty item that is already given: the first call moves each lane to its first.
		 */
		j->lanes[i] = (struct lane){ .stream = streams[i],
					     .state = 1,
					     .floor = INT64_MIN,
					     .item = { .kind = STREAM_EVENTS,
						       .watermark_ns = INT64_MIN,
						       .floor_ns = INT64_MIN } };
	}
	return &j->stream;
}
