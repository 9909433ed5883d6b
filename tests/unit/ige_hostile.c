/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that nobody's writer made: torn ones in front of others, lost headers, parts of newer
 * versions, and numbers chosen to hurt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"
#include "lib/ige/block.h"
#include "lib/ige/dict_reader.h"
#include "lib/ige/records.h"
#include "lib/ige/seek.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

struct outcome {
	uint64_t events, unnamed, records, lasts;
	int rc;
	struct ige_report report;
	char text[200];
};

static struct outcome outcome_of(const struct buf *file)
{
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, file->p, file->n);
	struct event_stream *s = ige_reader_stream(r);
	struct outcome o = { 0 };
	struct stream_item item;
	struct err e = { 0 };

	while ((o.rc = s->next(s, &item, &e)) == 1) {
		o.records += item.kind == STREAM_RECORD;
		o.lasts += item.kind == STREAM_LAST;
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++) {
			const struct op_def *op = world_op(w, item.events[i].op);

			o.events++;
			o.unnamed += !item.events[i].ctx;
			for (unsigned k = 0; k < op->ncols; k++)
				if (item.events[i].present >> k & 1 &&
				    !world_column(w, op->cols[k]))
					abort();
		}
	}
	snprintf(o.text, sizeof(o.text), "%.*s", (int)sizeof(o.text) - 1, e.text);
	o.report = *ige_reader_report(r);
	ige_reader_free(r);
	world_free(w);
	return o;
}

static size_t block_at(const struct buf *file, enum ige_block_type type, unsigned nth)
{
	for (size_t at = IGE_SEGMENT_BYTES; at < file->n;) {
		struct ige_header h;

		if (ige_header_unpack(&h, (unsigned char *)file->p + at, NULL))
			abort();
		if (h.type == type && nth-- == 0)
			return at;
		at += h.length;
	}
	abort();
}

/* The file of a killed recorder, then another: all of the second one, and the whole blocks of the
 * first. */
static void test_torn(const struct buf *file)
{
	uint64_t wrong = 0, silent = 0, failed = 0, segments = 0, torn_events;

	for (size_t cut = IGE_SEGMENT_BYTES; cut < file->n; cut += 3) {
		struct buf two = { 0 };
		struct outcome o;
		uint64_t whole = 0;
		bool torn = true;

		torn_events = 0;
		for (size_t at = IGE_SEGMENT_BYTES; at <= cut;) {
			struct ige_header h;

			torn = at != cut;
			if (!torn)
				break;
			ige_header_unpack(&h, (unsigned char *)file->p + at, NULL);
			at += h.length;
			if (at <= cut && h.type == IGE_EVENTS)
				whole += h.n;
			else if (h.type == IGE_EVENTS)
				torn_events = h.n; /* usable when only a sparse column is cut */
		}
		buf_add(&two, file->p, cut);
		buf_add(&two, file->p, file->n);
		o = outcome_of(&two);
		wrong += o.events != whole + 120 && o.events != whole + torn_events + 120;
		segments += o.report.segments != 2;
		silent += torn && !o.report.damaged_blocks && !o.report.skipped_bytes;
		failed += o.rc != 0;
		buf_free(&two);
	}
	is_u64(wrong, 0, "a torn file in front of another costs only its torn block");
	is_u64(segments, 0, "and both segments are met");
	is_u64(silent, 0, "and is reported");
	is_u64(failed, 0, "and is no error in itself");
}

/* Ids of one segment must never be looked up in another's dictionaries. */
static void test_lost_header(const struct buf *file)
{
	struct buf two = { 0 };
	size_t events = block_at(file, IGE_EVENTS, 1);
	struct outcome o;

	buf_add(&two, file->p, file->n);
	buf_add(&two, file->p + events, file->n - events);
	o = outcome_of(&two);
	ok(o.events > 120, "blocks of the same segment stay readable");
	/* The same, but the blocks in front say another segment. */
	two.n = 0;
	buf_add(&two, file->p, file->n);
	for (size_t at = IGE_SEGMENT_BYTES; at < file->n;) {
		struct ige_header h;

		ige_header_unpack(&h, (unsigned char *)two.p + at, NULL);
		h.seq ^= 1ull << 40;
		ige_header_pack(&h, (unsigned char *)two.p + at);
		at += h.length;
	}
	buf_add(&two, file->p + events, file->n - events);
	o = outcome_of(&two);
	is_u64(o.events - o.unnamed, 120,
	       "events whose segment header was lost are not given others' names");
	ok(o.report.damaged_blocks > 0, "and that is reported");
	buf_free(&two);
}

static void put_block(struct buf *out, struct ige_builder *b, uint8_t type, uint8_t flags,
		      uint32_t n)
{
	struct ige_header h = { .type = type,
				.flags = flags,
				.n = n,
				.seq = le_get(out->p + 64, 4) << 32 | 99,
				.end_min = 5,
				.end_max = 5,
				.start_min = 5,
				.start_floor_us = IGE_FLOOR_UNKNOWN };

	if (ige_builder_seal(b, &h, out, NULL))
		abort();
	ige_builder_reset(b);
}

static void test_future(const struct buf *file)
{
	struct ige_builder b = { 0 };
	struct buf copy = { 0 }, entry = { 0 }, run = { 0 };
	struct ige_directory d = { .id = 3000, .encoding = 5, .width = 1, .count = 1 };
	struct ige_segment s;
	struct outcome o;

#define FRESH()                                   \
	do {                                      \
		copy.n = 0;                       \
		buf_add(&copy, file->p, file->n); \
	} while (0)
	FRESH();
	ige_builder_column(&b, d, "x", 1);
	put_block(&copy, &b, 77, 0, 1);
	o = outcome_of(&copy);
	ok(o.rc == 0 && o.events == 120 && o.report.unknown_blocks == 1 &&
		   !o.report.damaged_blocks && !o.report.skipped_bytes,
	   "an unknown block type is passed by and is no damage");
	FRESH();
	put_block(&copy, &b, 77, IGE_CRITICAL, 0);
	o = outcome_of(&copy);
	ok(o.rc == ERR_TOO_NEW && o.report.too_new && o.events == 120,
	   "unless it is critical: too new, after all that came before");
	FRESH();
	put_block(&copy, &b, IGE_EVENTS, 0x40, 0);
	o = outcome_of(&copy);
	ok(o.rc == 0 && !o.report.damaged_blocks, "an unknown block flag is passed by");
	FRESH();
	put_block(&copy, &b, IGE_EVENTS, 0x40 | IGE_CRITICAL, 0);
	o = outcome_of(&copy);
	is_int(o.rc, ERR_TOO_NEW, "but not when the block is critical");
	FRESH();
	d.critical = true;
	ige_builder_column(&b, d, "x", 1);
	put_block(&copy, &b, IGE_EVENTS, 0, 0);
	o = outcome_of(&copy);
	is_int(o.rc, ERR_TOO_NEW, "a critical column that is not known is refused");
	FRESH();
	d.id = IGE_END;
	d.critical = false;
	ige_builder_column(&b, d, "x", 1);
	put_block(&copy, &b, IGE_EVENTS, 0, 1);
	o = outcome_of(&copy);
	ok(o.rc == 0 && o.events == 120 && o.report.unknown_blocks == 1 && !o.report.damaged_blocks,
	   "times in an unknown encoding are not damage");
	FRESH();
	d.id = 200 << 8 | 1;
	ige_builder_column(&b, d, "x", 1);
	put_block(&copy, &b, IGE_RECORDS, 0, 1);
	o = outcome_of(&copy);
	ok(o.rc == 0 && o.report.unknown_blocks == 1, "nor is a record of an unknown kind");
	FRESH();
	ige_builder_column(&b, d, "x", 1);
	put_block(&copy, &b, IGE_RECORDS, IGE_CRITICAL, 1);
	is_int(outcome_of(&copy).rc, ERR_TOO_NEW, "unless it is critical");
	/* SCHEMA with a critical column. */
	FRESH();
	varint_put(&entry, 4000);
	buf_add(&entry, "\6weight\3\0\1", 10);
	varint_put(&run, 1);
	varint_put(&run, entry.n);
	buf_add(&run, entry.p, entry.n);
	d = (struct ige_directory){ .id = IGE_D_COLUMN, .encoding = IGE_ENTRIES, .count = 1 };
	ige_builder_column(&b, d, run.p, run.n);
	put_block(&copy, &b, IGE_SCHEMA, 0, 0);
	is_int(outcome_of(&copy).rc, ERR_TOO_NEW, "a schema with an unknown critical column too");
	FRESH();
	ige_segment_unpack(&s, (unsigned char *)copy.p, NULL);
	s.flags = 1;
	s.minor = 9;
	ige_segment_pack(&s, (unsigned char *)copy.p);
	is_int(outcome_of(&copy).rc, 0,
	       "a lower segment flag and a newer minor version are passed by");
	s.flags = 1u << 20;
	ige_segment_pack(&s, (unsigned char *)copy.p);
	is_int(outcome_of(&copy).rc, ERR_TOO_NEW, "an upper segment flag is not");
	ige_builder_free(&b);
	buf_free(&copy);
	buf_free(&entry);
	buf_free(&run);
}

static void dict_block(struct buf *out, uint16_t kind, uint32_t count, const struct buf *run)
{
	struct ige_builder b = { 0 };
	struct ige_directory d = { .id = kind, .encoding = IGE_ENTRIES, .width = 1, .count = count };

	ige_builder_column(&b, d, run->p, run->n);
	put_block(out, &b, IGE_DICT, 0, 0);
	ige_builder_free(&b);
}

static void test_numbers(const struct buf *file)
{
	static const uint64_t first[] = { 0,	    1u << 22,	(1u << 22) - 1,
					  3u << 20, UINT32_MAX, UINT64_MAX };
	struct ige_builder b = { 0 };
	struct buf copy = { 0 }, run = { 0 }, bomb = { 0 };
	struct ige_directory d = { .id = IGE_D_STRING,
				   .encoding = IGE_ENTRIES,
				   .compressor = IGE_ZLIB,
				   .width = 1,
				   .count = 1 };
	char head[8] = { 0 };
	struct outcome o;
	uint64_t bad = 0;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		for (int kind = 1; kind < IGE_D_KINDS; kind++) {
			FRESH();
			buf_reset(&run);
			varint_put(&run, first[i]);
			buf_add(&run, "\0\0\0", 3);
			dict_block(&copy, (uint16_t)kind, i % 2 ? 3 : UINT32_MAX, &run);
			o = outcome_of(&copy);
			bad += o.rc != 0 || o.events != 120;
		}
	is_u64(bad, 0, "ids and counts from nowhere cost nothing but their run");
	/* A kilobyte that inflates to four megabytes. */
	FRESH();
	buf_reset(&run);
	for (size_t i = 0; i < (4u << 20); i++)
		buf_putc(&run, '\1');
	le_put(head, 4, run.n);
	buf_add(&bomb, head, 8);
	deflate_bytes(&bomb, run.p, run.n, 9, NULL);
	ige_builder_column(&b, d, bomb.p, bomb.n);
	put_block(&copy, &b, IGE_DICT, 0, 0);
	o = outcome_of(&copy);
	ok(o.rc == 0 && o.report.damaged_blocks == 1, "what inflates beyond measure is refused");
	/* Times that leave their block. */
	for (int i = 0; i < 3; i++) {
		uint64_t end = i == 0 ? UINT64_MAX : 0, dur = i == 1 ? UINT64_MAX : i == 2, one = 1;

		FRESH();
		ige_builder_integers(&b, IGE_END, &end, 1);
		ige_builder_integers(&b, IGE_DUR, &dur, 1);
		ige_builder_integers(&b, IGE_CTX, &one, 1);
		ige_builder_integers(&b, IGE_SITE, &one, 1);
		put_block(&copy, &b, IGE_EVENTS, 0, 1);
		o = outcome_of(&copy);
		ok(o.rc == 0 && o.events == 120 && o.report.damaged_blocks == 1,
		   "an event outside its block's times is refused (%d)", i);
	}
	/* The most rows a block may have, of constants, many times over: memory does not follow. */
	FRESH();
	for (int i = 0; i < 500; i++) {
		uint64_t *v = calloc(IGE_EVENTS_MAX, sizeof(*v));

		ige_builder_integers(&b, i < 5 ? (uint16_t)(i + 1) : IGE_END, v, IGE_EVENTS_MAX);
		free(v);
	}
	put_block(&copy, &b, IGE_EVENTS, 0, IGE_EVENTS_MAX);
	o = outcome_of(&copy);
	ok(o.rc == 0 && o.events == 120, "a block of one column many times over is read once");
	ige_builder_free(&b);
	buf_free(&copy);
	buf_free(&run);
	buf_free(&bomb);
}

/* Ids that begin late take room for all before them: of how many segments must not matter, in a
 * day's recording neither. */
static void test_many_segments(const struct buf *file)
{
	enum { SEGMENTS = 200, MIB_MAX = 400 };
	struct buf copy = { 0 }, all = { 0 }, run = { 0 };
	struct world *w = world_new();
	struct ige_seek *seek = NULL;
	struct rusage before, after;
	struct stream_item item;
	struct event_stream *s;
	struct err e = { 0 };
	uint64_t events = 0;
	FILE *f = tmpfile();

	buf_add(&copy, file->p, file->n);
	varint_put(&run, 1u << 20);
	buf_add(&run, "\0\0\0", 3);
	dict_block(&copy, IGE_D_STRING, 1, &run);
	for (int i = 0; i < SEGMENTS; i++)
		buf_add(&all, copy.p, copy.n);
	if (!f || fwrite(all.p, 1, all.n, f) != all.n || fflush(f))
		abort();
	getrusage(RUSAGE_SELF, &before);
	is_int(ige_seek_open(&seek, w, fileno(f), "many", &e), 0, "a file of many segments");
	for (int k = 0; k < 2; k++) { /* the second time their definitions are needed again */
		events = 0;
		s = ige_seek_stream(seek, INT64_MIN, INT64_MAX, IGE_SEEK_EVENTS, 0);
		while (s->next(s, &item, &e) == 1)
			for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++)
				events += item.events[i].ctx != 0;
		is_u64(events, 120 * SEGMENTS, "all its events (%d)", k);
	}
	getrusage(RUSAGE_SELF, &after);
	ok(after.ru_maxrss - before.ru_maxrss < MIB_MAX << 10, "in less than %d MiB: %ld KiB more",
	   MIB_MAX, after.ru_maxrss - before.ru_maxrss);
	ige_seek_free(seek);
	fclose(f);
	world_free(w);
	buf_free(&copy);
	buf_free(&all);
	buf_free(&run);
}

/* Records of any size become blocks a reader takes. */
static void test_records(void)
{
	struct fixture f;
	struct fixture_sink sink = { 0 };
	struct ige_writer *wr;
	struct err e = { 0 };
	struct buf body = { 0 }, out = { 0 };
	struct record r = { .kind = RECORD_CHAIN }, many[40];
	struct outcome o;
	uint64_t largest = 0;

	fixture_init(&f);
	wr = fixture_writer(&f, &sink, 0);
	for (size_t i = 0; i < 400000; i++)
		buf_putc(&body, "abcdef"[i % 6]);
	REC_SET(&r, CHAIN, time_ns, 1);
	REC_SET(&r, CHAIN, body, buf_bytes(&body));
	for (int i = 0; i < 40; i++) {
		is_int(ige_writer_record(wr, &r, &e), 0, "record %d of 400 kB", i);
		many[i] = r;
	}
	is_int(ige_writer_finish(wr, &e), 0, "are written");
	o = outcome_of(&sink.bytes);
	is_u64(o.records, 40, "and read");
	is_int(ige_encode_records(&out, many, 40, 1, 5, &e), 0, "a filter encodes them");
	for (size_t at = 0; at < out.n;) {
		struct ige_header h;

		if (ige_header_unpack(&h, (unsigned char *)out.p + at, &e))
			break;
		largest = h.length > largest ? h.length : largest;
		at += h.length;
	}
	ok(largest && largest < IGE_LENGTH_MAX, "in blocks below the limit");
	buf_reset(&body);
	for (size_t i = 0; i < (3u << 20); i++)
		buf_putc(&body, 'x');
	r.u.CHAIN.body = buf_bytes(&body);
	ige_writer_free(wr);
	wr = fixture_writer(&f, &sink, 0);
	is_int(ige_writer_record(wr, &r, &e), ERR_LIMIT, "one of three megabytes is refused");
	r = (struct record){ .kind = RECORD_CHAIN };
	is_int(ige_encode_records(&out, &r, 1, 1, 5, &e), ERR_USAGE, "and one without fields");
	ige_writer_free(wr);
	buf_free(&body);
	buf_free(&out);
	buf_free(&sink.bytes);
	world_free(f.w);
}

/* With a reorder window a heartbeat promises only what was let go. */
static void test_heartbeat(void)
{
	struct fixture f;
	struct fixture_sink sink = { .sink = { fixture_put } };
	struct ige_writer_options opt = { .window_ns = 1000000, .clock_id = 1 };
	struct ige_writer *wr;
	struct ige_reader *r;
	struct stream_item item;
	struct err e = { 0 };
	struct world *w = world_new();
	int64_t promised = INT64_MIN;
	uint64_t broken = 0, events = 0;
	struct event ev;

	fixture_init(&f);
	if (ige_writer_new(&wr, f.w, &sink.sink, &opt, &e))
		abort();
	for (uint32_t i = 0; i < 100; i++) {
		ev = fixture_event(&f, i);
		ev.end_ns = 1000000000 + (int64_t)i * 300000;
		ige_writer_event(wr, &ev, &e);
		ige_writer_flush(wr, ev.end_ns, ev.end_ns - 1000, true, &e);
	}
	ev.end_ns = INT64_MAX - 5;
	is_int(ige_writer_event(wr, &ev, &e), 0, "an event from the end of time is taken");
	is_int(ige_writer_finish(wr, &e), 0, "written");
	ige_writer_free(wr);
	r = fixture_reader(w, sink.bytes.p, sink.bytes.n);
	struct event_stream *s = ige_reader_stream(r);
	while (s->next(s, &item, &e) == 1) {
		for (size_t i = 0; i < item.n; i++, events++)
			broken += item.events[i].end_ns < promised;
		if (item.watermark_ns > promised)
			promised = item.watermark_ns;
	}
	is_u64(events, 100, "all events");
	is_u64(broken, 0, "none ends before what was promised");
	is_u64(ige_reader_report(r)->lost_events, 1, "what no file can hold is counted as lost");
	ige_reader_free(r);
	buf_free(&sink.bytes);
	world_free(w);
	world_free(f.w);
}

int main(void)
{
	struct fixture f;
	struct buf file = { 0 };

	fixture_init(&f);
	fixture_recording(&f, &file, 120, 50);
	test_torn(&file);
	test_lost_header(&file);
	test_future(&file);
	test_numbers(&file);
	test_many_segments(&file);
	test_records();
	test_heartbeat();
	buf_free(&file);
	world_free(f.w);
	return tap_done();
}
