/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Returns the events and records of the block read last, batch by batch and record by record; and
 * the whole input as a stream.
 */
#include "lib/ige/reader_internal.h"

#include <stddef.h>

/* Rows that are events, all of them, and stand in their order. */
static bool is_sheet(const struct ige_reader *r)
{
	const struct ige_decoder *d = &r->decoder;

	return r->weaves && !(r->view.header.flags & IGE_LATE) && !d->whole && d->total &&
	       d->total == d->a.n;
}

static void put_sheet(struct ige_reader *r, struct stream_item *item)
{
	r->sheet = (struct ige_block_view){ .decoder = &r->decoder };
	r->sheets[0] = &r->sheet;
	r->weave = (struct ige_merge_columns){ .sheets = r->sheets, .nsheets = 1, .ordered = true };
	item->weave = &r->weave;
	item->n = r->decoder.total;
}

void ige_reader_merge_columns(struct ige_reader *r)
{
	r->weaves = true;
}

int ige_reader_items(struct ige_reader *r, struct stream_item *item, struct err *e)
{
	const struct ige_header *h = &r->view.header;

	(void)e;
	*item = (struct stream_item){ .watermark_ns = INT64_MIN, .floor_ns = INT64_MIN };
	switch (r->ready) {
	case SEGMENT:
		item->kind = STREAM_SEGMENT;
		item->real_minus_mono_ns = r->real_minus_mono_ns;
		r->ready = NOTHING;
		return 1;
	case EVENTS:
		item->kind = STREAM_EVENTS;
		item->late = h->flags & IGE_LATE;
		if (is_sheet(r))
			put_sheet(r, item);
		else
			item->n = ige_decoder_next(&r->decoder, &item->events);
		item->lost = r->next ? 0 : h->lost;
		r->next += item->n;
		if (r->next == r->decoder.total) {
			if (!item->late) {
				item->watermark_ns = h->end_max;
				item->floor_ns = ige_header_floor(h);
			}
			r->ready = h->flags & IGE_LAST ? LAST : NOTHING;
		}
		return 1;
	case RECORDS:
		if (r->next == r->records.list.n) {
			r->ready = NOTHING;
			return 0;
		}
		item->kind = STREAM_RECORD;
		item->record = &r->records.list.v[r->next++];
		return 1;
	case LAST:
		item->kind = STREAM_LAST;
		r->ready = NOTHING;
		return 1;
	default:
		return 0;
	}
}

static int stream_next(struct event_stream *s, struct stream_item *item, struct err *e)
{
	struct ige_reader *r =
		(struct ige_reader *)((char *)s - offsetof(struct ige_reader, stream));

	for (;;) {
		struct ige_block b;
		int rc = ige_reader_items(r, item, e);

		if (rc)
			return rc;
		rc = ige_reader_block(r, &b, e);
		if (rc <= 0)
			return rc;
	}
}

static void stream_close(struct event_stream *s)
{
	(void)s;
}

struct event_stream *ige_reader_stream(struct ige_reader *r)
{
	r->stream = (struct event_stream){ stream_next, stream_close };
	return &r->stream;
}
