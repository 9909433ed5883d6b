/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows from many inputs against a sort of all their events: with ends that are equal within and
 * between inputs, plain and archive blocks, late ones, empty inputs, and any number of inputs.
 */
#include "lib/input/cursor.h"

#include "lib/input/join.h"
#include "lib/world/event_order.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define EVENTS 6000

static struct fixture f;
static struct event all[EVENTS];

static int compare(const void *a, const void *b)
{
	int order = world_event_order(f.w, a, b);
	const struct event *x = a, *y = b;

	/* What the order leaves open, only to have one answer. */
	return order ? order : (x->dur_ns > y->dur_ns) - (x->dur_ns < y->dur_ns);
}

/* Event i: ends repeat, up to `same` of them. */
static struct event event_at(uint32_t i, uint32_t same)
{
	struct event ev = fixture_event(&f, i);

	ev.end_ns = 1000000000 + (int64_t)(i / same) * 1000;
	ev.dur_ns = i;
	return ev;
}

static struct ige_reader *recording(unsigned part, unsigned parts, uint32_t same, bool archive)
{
	struct fixture_sink s = { .sink = { fixture_put } };
	struct ige_writer_options opt = {
		.block_events = 100, .boot = 77, .clock_id = 1, .archive = archive
	};
	struct ige_writer *wr;
	struct ige_reader *r;

	if (ige_writer_new(&wr, f.w, &s.sink, &opt, NULL))
		abort();
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct event ev = event_at(i, same);

		if ((i * 2654435761u >> 8) % parts == part)
			ige_writer_event(wr, &ev, NULL);
	}
	ige_writer_finish(wr, NULL);
	ige_writer_free(wr);
	r = fixture_reader(f.w, s.bytes.p, s.bytes.n);
	buf_free(&s.bytes);
	return r;
}

static void try(unsigned parts, uint32_t same, bool archive)
{
	struct ige_reader *readers[64];
	struct event_stream *streams[64], *join;
	struct input_cursor *c;
	struct input_run run;
	struct stream_item item;
	struct err e = { 0 };
	uint64_t n = 0, wrong = 0;
	int rc;

	for (uint32_t i = 0; i < EVENTS; i++)
		all[i] = event_at(i, same);
	qsort(all, EVENTS, sizeof(all[0]), compare);
	for (unsigned i = 0; i < parts; i++)
		readers[i] = recording(i, parts, same, archive);
	if (input_cursor_open(&c, f.w, readers, parts, &e))
		abort();
	while ((rc = input_cursor_next(c, &run, &e)) == 1)
		for (unsigned k = 0; k < run.n; k++, n++) {
			const struct input_rows *in = &run.inputs[run.refs[k] >> 16];
			const struct ige_arrays *a = &in->arrays;
			uint32_t row = run.refs[k] & 0xffff;
			struct event ev = {
				.end_ns = a->header.end_min + (int64_t)a->column[IGE_END][row],
				.ctx = in->dict->kind[IGE_D_CTX].ids.v[a->column[IGE_CTX][row]],
				.depth = a->column[IGE_DEPTH] ? (uint16_t)a->column[IGE_DEPTH][row]
							      : 0,
			};

			wrong += n >= EVENTS || world_event_order(f.w, &ev, &all[n]) != 0;
		}
	is_int(rc, 0, "read to the end");
	is_u64(n, EVENTS, "every row");
	is_u64(wrong, 0, "in canonical order");
	input_cursor_free(c);
	for (unsigned i = 0; i < parts; i++)
		ige_reader_free(readers[i]);

	/* The same as events. */
	for (unsigned i = 0; i < parts; i++) {
		readers[i] = recording(i, parts, same, archive);
		streams[i] = ige_reader_stream(readers[i]);
	}
	join = input_join(f.w, streams, parts);
	n = wrong = 0;
	while ((rc = join->next(join, &item, &e)) == 1)
		for (size_t k = 0; item.kind == STREAM_EVENTS && k < item.n; k++, n++)
			wrong += n >= EVENTS ||
				 world_event_order(f.w, &item.events[k], &all[n]) != 0;
	is_u64(n, EVENTS, "and every event");
	is_u64(wrong, 0, "in canonical order too");
	join->close(join);
	for (unsigned i = 0; i < parts; i++)
		ige_reader_free(readers[i]);
}

static void late(void)
{
	struct fixture_sink s = { 0 };
	struct ige_writer *wr = fixture_writer(&f, &s, 64);
	struct ige_reader *readers[2];
	struct input_cursor *c;
	struct input_run run;
	struct err e = { 0 };
	uint64_t n = 0, lates = 0;
	struct event ev;

	for (uint32_t i = 0; i < 64; i++) {
		ev = fixture_event(&f, 100 + i);
		ige_writer_event(wr, &ev, NULL);
	}
	ige_writer_flush(wr, ev.end_ns, ev.end_ns, true, NULL);
	for (uint32_t i = 0; i < 8; i++) {
		ev = fixture_event(&f, i);
		ige_writer_event(wr, &ev, NULL);
	}
	ige_writer_finish(wr, NULL);
	ige_writer_free(wr);
	readers[0] = fixture_reader(f.w, s.bytes.p, s.bytes.n);
	readers[1] = fixture_reader(f.w, "", 0);
	if (input_cursor_open(&c, f.w, readers, 2, &e))
		abort();
	while (input_cursor_next(c, &run, &e) == 1) {
		n += run.n;
		lates += run.late ? run.n : 0;
	}
	is_u64(n, 72, "late rows are given");
	is_u64(lates, 8, "and told as late");
	input_cursor_free(c);
	ige_reader_free(readers[0]);
	ige_reader_free(readers[1]);
	if (input_cursor_open(&c, f.w, readers, 0, &e))
		abort();
	is_int(input_cursor_next(c, &run, &e), 0, "no input, no row");
	input_cursor_free(c);
	buf_free(&s.bytes);
}

int main(void)
{
	static const unsigned parts[] = { 1, 2, 3, 8, 33, 64 };

	fixture_init(&f);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		try(parts[i], 1, false);
		try(parts[i], 7, i % 2);
		try(parts[i], EVENTS, !(i % 2));
	}
	late();
	world_free(f.w);
	return tap_done();
}
