/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a stream's items mean for loops. Events that came too late are passed over. */
#include "lib/loops/loops_feed.h"

#include "lib/loops/loops_internal.h"

static int feed_events(struct loops_feed *f, const struct stream_item *item, struct err *e)
{
	int64_t previous = f->has_events ? f->previous_ns : INT64_MIN;

	if (item->lost)
		loops_lost(f->loops, previous,
			   item->n && !item->late ? item->events[0].end_ns : item->watermark_ns);
	for (size_t i = 0; i < item->n && !item->late; i++) {
		const struct event *ev = &item->events[i];
		int rc = loops_wants(f->loops, ev) ? loops_event(f->loops, ev, e) : 0;

		if (rc)
			return rc;
	}
	if (!item->n || item->late)
		return 0;
	f->previous_ns = item->events[item->n - 1].end_ns;
	f->has_events = true;
	return 0;
}

int loops_feed_item(struct loops_feed *f, const struct stream_item *item, struct err *e)
{
	const struct record *r = item->kind == STREAM_RECORD ? item->record : NULL;

	if (item->kind == STREAM_EVENTS)
		return feed_events(f, item, e);
	if (r && r->kind == RECORD_LOSS && REC_HAS(r, LOSS, since_ns) && REC_HAS(r, LOSS, until_ns))
		loops_lost(f->loops, r->u.LOSS.since_ns, r->u.LOSS.until_ns);
	return r ? loops_record(f->loops, r, e) : 0;
}
