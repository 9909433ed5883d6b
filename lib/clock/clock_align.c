/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fits the clocks of several nodes and shifts their streams to a common time. A machine's offset is
 * the greatest of those its recordings begin with: clocks that are set are mostly set forward, from
 * a time nobody meant. What readings within recordings say about it is not looked at: a pipe would
 * tell them too late.
 */
#include "lib/clock/clock_align.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/ige/merge_columns.h"
#include "lib/clock/shift_times.h"

void clock_head_take(struct clock_head *h, const void *bytes, size_t n)
{
	*h = (struct clock_head){ .known = false, .ahead_ns = h->ahead_ns };
	if (n != IGE_SEGMENT_BYTES || memcmp(bytes, IGE_SEGMENT_MAGIC, 8) != 0)
		return;
	memcpy(h->bytes, bytes, n);
	h->known = ige_segment_unpack(&h->segment, h->bytes, NULL) == 0;
}

static bool same_machine(const struct clock_head *a, const struct clock_head *b)
{
	return memcmp(a->segment.node_uuid, b->segment.node_uuid, sizeof(a->segment.node_uuid)) ==
		       0 &&
	       a->segment.boot == b->segment.boot && a->segment.clock_id == b->segment.clock_id;
}

int clock_head_order(const struct clock_head *a, const struct clock_head *b)
{
	const struct ige_segment *x = &a->segment, *y = &b->segment;
	int c = a->known - b->known;

	if (!c)
		c = memcmp(x->node_uuid, y->node_uuid, sizeof(x->node_uuid));
	if (!c)
		c = (x->boot > y->boot) - (x->boot < y->boot);
	if (!c)
		c = (x->clock_id > y->clock_id) - (x->clock_id < y->clock_id);
	if (!c)
		c = (x->real_minus_mono_ns > y->real_minus_mono_ns) -
		    (x->real_minus_mono_ns < y->real_minus_mono_ns);
	return c ? c : memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

/* Whether adding the offset to a time gives a time that a file can hold. */
static bool is_sane(int64_t offset_ns)
{
	return offset_ns > -IGE_TIME_MAX / 2 && offset_ns < IGE_TIME_MAX / 2;
}

struct clock_common clock_align(struct clock_head *heads, size_t n)
{
	struct clock_common clock = { .machines = 0 };

	/* Sorted: what does not begin with a segment header comes first. */
	for (; n && !heads->known; heads++, n--)
		heads->shift_ns = heads->ahead_ns = 0;
	for (size_t i = 0, end; i < n; i = end) {
		clock.machines++;
		for (end = i + 1; end < n && same_machine(&heads[i], &heads[end]); end++)
			;
		/* Sorted: the last of a machine has its greatest offset. */
		for (size_t k = i; k < end; k++) {
			const struct clock_head *last = &heads[end - 1];
			int64_t real = last->segment.real_minus_mono_ns;
			bool is = last->segment.clock_id && is_sane(real);

			heads[k].machine = clock.machines - 1;
			heads[k].ahead_ns =
				is && is_sane(last->ahead_ns) && is_sane(real - last->ahead_ns)
					? last->ahead_ns
					: 0;
			heads[k].shift_ns = is ? real - heads[k].ahead_ns : 0;
		}
	}
	if (clock.machines > 1)
		return clock;
	for (size_t i = 0; i < n; i++)
		heads[i].shift_ns = heads[i].ahead_ns = 0;
	if (n) {
		const struct ige_segment *s = &heads[n - 1].segment;

		memcpy(clock.node_uuid, s->node_uuid, sizeof(clock.node_uuid));
		clock.boot = s->boot;
		clock.real_minus_mono_ns = s->real_minus_mono_ns;
		clock.clock_id = s->clock_id;
	}
	return clock;
}

void clock_align_fit(struct clock_head *heads, size_t n, const struct clock_fit *fits)
{
	for (size_t i = 0; i < n; i++) {
		if (!heads[i].known || !is_sane(heads[i].shift_ns + fits[heads[i].machine].by_ns))
			continue;
		heads[i].fit = fits[heads[i].machine];
		heads[i].shift_ns += heads[i].fit.by_ns;
	}
}

/* ---- moved streams ---- */

struct shifted {
	struct event_stream stream, *inner;
	struct world *world;
	struct clock_head head;
	uint32_t node; /* world id, once its definition was met */
	VEC(struct event) events;
	struct ige_block_view sheet;
	const struct ige_block_view *sheets[1];
	struct ige_merge_columns weave;
	struct record record;
	struct buf body;
};

/* World id of the machine the recording was made on. Looked for, not defined: what it is called is
 * in the file. */
static uint32_t find_node(struct shifted *s)
{
	const struct ige_segment *h = &s->head.segment;

	for (uint32_t i = world_count(s->world, WORLD_NODE); !s->node && i; i--) {
		const struct world_node *node = world_get_node(s->world, i);

		if (node->boot == h->boot && !memcmp(node->uuid, h->node_uuid, sizeof(node->uuid)))
			s->node = i;
	}
	return s->node;
}

/* Sets the node of a record about the machine as a whole, as the joined stream has several. */
static void set_node(struct shifted *s, struct record *r)
{
	const struct record_def *def = record_builtin(r->kind);
	uint32_t id;

	if (!def || !s->head.known || !s->head.segment.clock_id || !(id = find_node(s)))
		return;
	for (unsigned i = 0; i < def->nfields; i++) {
		const struct record_field *f = &def->fields[i];

		if (f->role != RROLE_NODE || record_has(r, f->number))
			continue;
		memcpy((char *)&r->u + f->offset, &id, sizeof(id));
		r->present |= 1u << (f->number - 1);
	}
}

static int shifted_next(struct event_stream *stream, struct stream_item *item, struct err *e)
{
	struct shifted *s = (struct shifted *)stream;
	int64_t by = s->head.shift_ns;
	int rc = s->inner->next(s->inner, item, e);

	if (rc <= 0)
		return rc;
	if (item->watermark_ns != INT64_MIN)
		item->watermark_ns += by;
	if (item->floor_ns != INT64_MIN)
		item->floor_ns += by;
	if (item->skipped) {
		item->skipped_from_ns += by;
		item->skipped_to_ns += by;
	}
	/* Where there are several the clock is UTC, but for what the machines' own were wrong. */
	item->real_minus_mono_ns = 0;
	if (item->kind == STREAM_RECORD) {
		s->record = *item->record;
		if (!shift_record(&s->record, by, &s->body))
			return err_nomem(e);
		set_node(s, &s->record);
		/* A reading of the wall clock is one of that which was put right. */
		if (s->record.kind == RECORD_CLOCK && REC_HAS(&s->record, CLOCK, real_ns))
			s->record.u.CLOCK.real_ns =
				(int64_t)((uint64_t)s->record.u.CLOCK.real_ns +
					  (uint64_t)clock_head_put_right(&s->head));
		item->record = &s->record;
	} else if (item->kind == STREAM_EVENTS && item->weave) {
		s->sheet = *item->weave->sheets[0];
		s->sheet.by_ns += by;
		s->sheets[0] = &s->sheet;
		s->weave = (struct ige_merge_columns){ .sheets = s->sheets,
						       .nsheets = 1,
						       .ordered = true };
		item->weave = &s->weave;
	} else if (item->kind == STREAM_EVENTS && item->n && by) {
		s->events.n = 0;
		if (!vec_reserve(&s->events, item->n))
			return err_nomem(e);
		memcpy(s->events.v, item->events, item->n * sizeof(s->events.v[0]));
		for (size_t i = 0; i < item->n; i++)
			s->events.v[i].end_ns += by;
		item->events = s->events.v;
	}
	return 1;
}

static void shifted_close(struct event_stream *stream)
{
	struct shifted *s = (struct shifted *)stream;

	vec_free(&s->events);
	buf_free(&s->body);
	free(s);
}

struct event_stream *clock_shift_times(struct world *w, struct event_stream *inner,
				       const struct clock_head *head)
{
	struct shifted *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->stream = (struct event_stream){ shifted_next, shifted_close };
	s->inner = inner;
	s->world = w;
	s->head = *head;
	return &s->stream;
}
