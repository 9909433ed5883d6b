/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts events and records at the beginning and end of the selected time. Of an event its tail
 * remains, so columns that are parts of its duration are limited to what remains, and the part at
 * its beginning is dropped first. Order is by end, which no cut changes.
 */
#include "lib/filter/cut.h"

/* An off-CPU interval's wait is its tail; all of it only when the thread never blocked. A
 * nanosecond of the block stays, so that it does not look preempted. */
static void cut_event(struct event *ev, const struct op_def *op, const struct world *w,
		      int64_t since_ns)
{
	uint64_t was = ev->dur_ns, now = (uint64_t)(ev->end_ns - since_ns), v, left;

	ev->dur_ns = now;
	for (unsigned i = 0; op && i < op->ncols; i++) {
		const struct column_def *col = world_column(w, op->cols[i]);

		if (!col || col->role != ROLE_DURATION || !event_get(ev, op, op->cols[i], &v))
			continue;
		left = v;
		/* The wait for the device comes first, and goes first. */
		if (op->cols[i] == COL_QUEUE_NS)
			left = v > was - now ? v - (was - now) : 0;
		if (left > now)
			left = op->cols[i] == COL_WAIT_NS && v < was && now ? now - 1 : now;
		event_set(ev, op, op->cols[i], left);
	}
}

static int cut_events(struct filter_cut *c, const struct filter *s, const struct world *w,
		      struct stream_item *item, struct err *e)
{
	c->events.n = 0;
	for (size_t i = 0; i < item->n; i++) {
		struct event ev = item->events[i];

		if (ev.end_ns < s->since_ns || ev.end_ns >= s->until_ns)
			continue;
		if (event_start(&ev) < s->since_ns)
			cut_event(&ev, world_op(w, ev.op), w, s->since_ns);
		if (!vec_push(&c->events, ev))
			return err_nomem(e);
	}
	item->events = c->events.v;
	item->n = c->events.n;
	return 0;
}

/* Whether a point in time is within the selected time. */
static bool is_within(const struct filter *s, int64_t ns)
{
	return ns >= s->since_ns && ns < s->until_ns;
}

/* A call still open at the recording's end was open at the end of the selected time, too, if it had
 * begun by then. */
static bool cut_open_call(const struct filter *s, struct rec_OPEN *o)
{
	bool there = is_within(s, o->time_ns);

	if (o->at_end && o->time_ns >= s->until_ns && o->start_ns < s->until_ns) {
		o->time_ns = s->until_ns;
		there = true;
	}
	if (o->start_ns < s->since_ns)
		o->start_ns = s->since_ns;
	return there;
}

/* Limits a thread's sleep to the selected time; false: it lies outside. */
static bool cut_sleep(const struct filter *s, struct rec_ASLEEP *a)
{
	if (a->time_ns < s->since_ns || a->since_ns >= s->until_ns)
		return false;
	if (a->time_ns > s->until_ns)
		a->time_ns = s->until_ns;
	if (a->since_ns < s->since_ns)
		a->since_ns = s->since_ns;
	return true;
}

static bool cut_record(struct filter_cut *c, const struct filter *s, struct stream_item *item)
{
	c->record = *item->record;
	item->record = &c->record;
	switch (c->record.kind) {
	case RECORD_SESSION:
		if (c->record.u.SESSION.start_ns < s->since_ns)
			c->record.u.SESSION.start_ns = s->since_ns;
		return true;
	case RECORD_OPEN:
		return cut_open_call(s, &c->record.u.OPEN);
	case RECORD_ASLEEP:
		return cut_sleep(s, &c->record.u.ASLEEP);
	case RECORD_CHAIN:
	case RECORD_ANALYSIS:
		return false;
	default:
		return filter_record_time(s, &c->record);
	}
}

int filter_cut_item(struct filter_cut *c, const struct filter *s, const struct world *w,
		    struct stream_item *item, bool *left, struct err *e)
{
	*left = true;
	if (item->kind == STREAM_EVENTS)
		return cut_events(c, s, w, item, e);
	if (item->kind == STREAM_RECORD)
		*left = cut_record(c, s, item);
	return 0;
}

void filter_cut_free(struct filter_cut *c)
{
	vec_free(&c->events);
}
