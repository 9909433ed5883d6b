/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of joining: records on another clock, which records stay in a slice, a machine given to
 * what has none, and what a damaged input says of the times it lost.
 */
#include "lib/input/merge.h"

#include "lib/input/resolve.h"
#include "lib/clock/shift_times.h"
#include "lib/input/slice.h"
#include "lib/filter/cut.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

static void shifting(void)
{
	static const struct {
		const char *body, *want;
	} bodies[] = {
		{ "{\"event\":{\"end\":\"1000\"}}", "{\"event\":{\"end\":\"1005\"}}" },
		{ "{\"a\":[{\"end\":\"-7\"},{\"end\":\"9\"}]}",
		  "{\"a\":[{\"end\":\"-2\"},{\"end\":\"14\"}]}" },
		{ "{\"comm\":\"x\\\"end\\\":\\\"1\"}", "{\"comm\":\"x\\\"end\\\":\\\"1\"}" },
		{ "{\"end\":\"\"}", "{\"end\":\"\"}" },
		{ "{\"end\":\"soon\",\"end\":\"1", "{\"end\":\"soon\",\"end\":\"6" },
		{ "", "" },
	};
	struct buf body = { 0 };

	for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct record r = { .kind = RECORD_CHAIN };

		REC_SET(&r, CHAIN, time_ns, 10);
		REC_SET(&r, CHAIN, lost_ns, 10);
		REC_SET(&r, CHAIN, body, bytes_of(bodies[i].body));
		ok(shift_record(&r, 5, &body), "chain %u is moved", i);
		is_str(body.n ? buf_text(&body) : "", bodies[i].want, "with its evidence");
		is_u64(r.u.CHAIN.body.n, strlen(bodies[i].want), "whole");
		is_int(r.u.CHAIN.time_ns, 15, "its times move");
		is_u64(r.u.CHAIN.lost_ns, 10, "its durations do not");
	}
	for (unsigned by = 0; by < 2; by++) {
		struct record r = { .kind = RECORD_CLOCK };

		REC_SET(&r, CLOCK, mono_ns, -3);
		REC_SET(&r, CLOCK, real_ns, 100);
		shift_record(&r, by, &body);
		is_int(r.u.CLOCK.mono_ns, -3 + (int)by, "a clock reading");
		is_int(r.u.CLOCK.real_ns, 100, "keeps the wall clock");
		ok(!REC_HAS(&r, CLOCK, boot_ns) && r.u.CLOCK.boot_ns == 0,
		   "what is absent stays so");
	}
	buf_free(&body);
}

static void slicing(const struct fixture *f)
{
	struct world_process other = { .node = f->node, .tgid = 99, .start_ns = 5 };
	struct world_thread thread = { .tid = 99, .start_ns = 5 };
	struct filter sel = { .resolved = true, .since_ns = 100, .until_ns = 200 };
	struct record r;

	thread.process = world_process(f->w, &other);

#define STAYS(KIND, field, value, want)                                                  \
	do {                                                                             \
		r = (struct record){ .kind = RECORD_##KIND };                            \
		REC_SET(&r, KIND, field, value);                                         \
		is_int(slice_record(&sel, f->w, &r), want, #KIND " " #field " " #value); \
	} while (0)

	STAYS(SESSION, start_ns, 5, true);
	STAYS(NODE, node, f->node, true);
	STAYS(TRUTH, time_ns, 5000, true);
	STAYS(CLOCK, mono_ns, 5, true);
	STAYS(CLOCK, mono_ns, 199, true);
	STAYS(CLOCK, mono_ns, 200, false);
	STAYS(SAMPLE, time_ns, 99, false);
	STAYS(SAMPLE, time_ns, 100, true);
	STAYS(SAMPLE, time_ns, 200, false);
	STAYS(LOSS, since_ns, 200, false);
	STAYS(LOSS, since_ns, 199, true);
	STAYS(LOSS, until_ns, 99, false);
	STAYS(LOSS, count, 1, true);
	STAYS(ASLEEP, time_ns, 99, false);
	STAYS(ASLEEP, time_ns, 100, true);
	STAYS(ASLEEP, time_ns, 199, true);
	STAYS(ASLEEP, time_ns, 200, false);
	STAYS(NAME, time_ns, 1, true);
	STAYS(NAME, time_ns, 200, false);
	STAYS(ANALYSIS, time_ns, 150, false);
	r = (struct record){ .kind = RECORD_OPEN };
	REC_SET(&r, OPEN, start_ns, 1);
	REC_SET(&r, OPEN, time_ns, 99);
	is_int(slice_record(&sel, f->w, &r), false, "a call that was open before: it may be over");
	REC_SET(&r, OPEN, time_ns, 100);
	is_int(slice_record(&sel, f->w, &r), true, "one that is open then");
	REC_SET(&r, OPEN, time_ns, 5000);
	is_int(slice_record(&sel, f->w, &r), true, "one that is open still");
	REC_SET(&r, OPEN, start_ns, 200);
	is_int(slice_record(&sel, f->w, &r), false, "one that begins behind it");
	r = (struct record){ .kind = RECORD_CHAIN };
	REC_SET(&r, CHAIN, first_ns, 10);
	REC_SET(&r, CHAIN, last_ns, 99);
	is_int(slice_record(&sel, f->w, &r), false, "a chain that was over by then");
	REC_SET(&r, CHAIN, last_ns, 100);
	is_int(slice_record(&sel, f->w, &r), true, "one that was not");
	sel.resolved = false;
	filter_pid(&sel, "4242", NULL);
	REC_SET(&r, CHAIN, body, bytes_of("{\"victim\":{\"pid\":4242}}"));
	is_int(slice_record(&sel, f->w, &r), true, "a chain of a process asked for");
	REC_SET(&r, CHAIN, body, bytes_of("{\"victim\":{\"pid\":4243}}"));
	is_int(slice_record(&sel, f->w, &r), false, "of another one");
	REC_SET(&r, CHAIN, body, bytes_of("{"));
	is_int(slice_record(&sel, f->w, &r), false, "of nobody knows whom");
	STAYS(SAMPLE, process, f->process, true);
	STAYS(SAMPLE, process, thread.process, false);
	STAYS(SAMPLE, metric, METRIC_CPU_BUSY, true);
	STAYS(COVERAGE, process, thread.process, false);
	STAYS(COVERAGE, layer, bytes_of("driver"), true);
	STAYS(NAME, thread, f->thread[0], true);
	STAYS(NAME, thread, world_thread(f->w, &thread), false);
	STAYS(ASLEEP, thread, f->thread[0], true);
	STAYS(ASLEEP, thread, world_thread(f->w, &thread), false);
	filter_name(&sel, "cudaMalloc", NULL);
	r = (struct record){ .kind = RECORD_OPEN };
	REC_SET(&r, OPEN, thread, f->thread[0]);
	REC_SET(&r, OPEN, op, OP_CUDA_MALLOC);
	is_int(slice_record(&sel, f->w, &r), true, "an open call asked for");
	REC_SET(&r, OPEN, op, OP_CUDA_LAUNCH);
	is_int(slice_record(&sel, f->w, &r), false, "another one");
	STAYS(ASLEEP, thread, f->thread[0], false);
	filter_free(&sel);
	sel = (struct filter){ 0 };
	filter_name(&sel, "offcpu", NULL);
	STAYS(ASLEEP, thread, f->thread[0], true);
	filter_free(&sel);
}

/* ---- through files ---- */

struct memory {
	struct merge_target target;
	struct fixture_sink sink;
};

static int memory_sink(struct merge_target *t, uint32_t node, struct ige_sink **sink, struct err *e)
{
	struct memory *m = (struct memory *)t;

	(void)node;
	(void)e;
	m->sink.sink.put = fixture_put;
	*sink = &m->sink.sink;
	return 0;
}

static void merge_bytes(const struct buf *in, const struct merge_options *opt, struct buf *out)
{
	char name[] = "/tmp/ingero-merge-XXXXXX";
	const char *names[] = { name };
	struct world *w = world_new();
	struct memory m = { .target = { .sink = memory_sink } };
	struct merge_result result;
	struct input *input;
	struct err e = { 0 };
	int fd = mkstemp(name);

	if (fd < 0 || write(fd, in->p, in->n) != (ssize_t)in->n || close(fd) ||
	    merge_name_nodes(w, opt, &e) || input_open_counted(&input, w, names, 1, &e))
		abort();
	if (opt->select &&
	    input_window(input, opt->select->since_ns, opt->select->until_ns, true, &e))
		abort();
	if (merge_run(w, input, opt, &m.target, &result, &e))
		abort();
	unlink(name);
	*out = m.sink.bytes;
	input_free(input);
	world_free(w);
}

/* Machines of all events, and how many had none. */
static uint64_t nameless(const struct buf *bytes, const char *want, uint64_t *wrong)
{
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, bytes->p, bytes->n);
	struct event_stream *s = ige_reader_stream(r);
	struct stream_item item;
	uint64_t n = 0;

	*wrong = 0;
	while (s->next(s, &item, NULL) == 1)
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++) {
			const struct world_ctx *ctx = world_get_ctx(w, item.events[i].ctx);
			const struct world_node *node = world_get_node(w, ctx ? ctx->node : 0);

			n += !node;
			*wrong += node && !bytes_equal(world_text(w, node->name), bytes_of(want));
		}
	ige_reader_free(r);
	world_free(w);
	return n;
}

static void naming(struct fixture *f)
{
	struct fixture_sink s = { 0 };
	struct ige_writer *wr = fixture_writer(f, &s, 50);
	struct merge_options opt = { .force_node = "attic-3" };
	struct buf out;
	uint64_t wrong;

	for (uint32_t i = 0; i < 200; i++) {
		struct event ev = fixture_event(f, i);

		ev.ctx = 0;
		ige_writer_event(wr, &ev, NULL);
	}
	ige_writer_finish(wr, NULL);
	ige_writer_free(wr);
	is_u64(nameless(&s.bytes, "", &wrong), 200, "events of nowhere");
	merge_bytes(&s.bytes, &opt, &out);
	is_u64(nameless(&out, "attic-3", &wrong), 0, "get the machine named");
	is_u64(wrong, 0, "and no other");
	buf_free(&out);
	buf_free(&s.bytes);
	fixture_recording(f, &s.bytes, 200, 50);
	merge_bytes(&s.bytes, &opt, &out);
	is_u64(nameless(&out, "gpu-node", &wrong) + wrong, 0, "those of somewhere keep theirs");
	buf_free(&out);
	buf_free(&s.bytes);
}

/* One block of events destroyed: its time becomes a loss. */
static void holes(struct fixture *f)
{
	struct merge_options opt = { .recover = true };
	struct buf in, out;
	struct ige_reader *r;
	struct event_stream *s;
	struct stream_item item;
	struct world *w = world_new();
	uint64_t n = 0, losses = 0, events = 0;

	fixture_recording(f, &in, 1000, 100);
	/* The sixth block of events with rows: 500 to 599. */
	for (size_t at = IGE_SEGMENT_BYTES; at < in.n;) {
		struct ige_header h;

		if (ige_header_unpack(&h, (const unsigned char *)in.p + at, NULL))
			abort();
		if (h.type == IGE_EVENTS && h.n && ++n == 6)
			memset(in.p + at + IGE_BLOCK_BYTES, 0x55, h.length - IGE_BLOCK_BYTES);
		at += h.length;
	}
	merge_bytes(&in, &opt, &out);
	r = fixture_reader(w, out.p, out.n);
	s = ige_reader_stream(r);
	while (s->next(s, &item, NULL) == 1) {
		events += item.kind == STREAM_EVENTS ? item.n : 0;
		if (item.kind != STREAM_RECORD || item.record->kind != RECORD_LOSS)
			continue;
		losses++;
		is_u64(item.record->u.LOSS.reason, LOSS_DAMAGED, "a loss by damage");
		is_int(item.record->u.LOSS.since_ns, fixture_event(f, 499).end_ns,
		       "from the last event before");
		is_int(item.record->u.LOSS.until_ns, fixture_event(f, 600).end_ns,
		       "to the first after it");
	}
	is_u64(events, 900, "all other events");
	is_u64(losses, 1, "one loss");
	ok(!ige_reader_report(r)->unterminated && !ige_reader_report(r)->damaged_blocks,
	   "and a sound file");
	ige_reader_free(r);
	world_free(w);
	buf_free(&in);
	buf_free(&out);
}

/* Of records every column may be damaged: such are none, and no reason to give up. */
static void nothing_left(struct fixture *f)
{
	struct merge_options opt = { .recover = true };
	struct buf in, out;
	struct ige_reader *r;
	struct event_stream *s;
	struct stream_item item;
	struct world *w = world_new();
	uint64_t events = 0, others = 0, losses = 0;

	fixture_recording(f, &in, 200, 50);
	for (size_t at = IGE_SEGMENT_BYTES; at < in.n;) {
		struct ige_view v = { .bytes = (const unsigned char *)in.p + at };
		struct ige_columns columns;
		struct ige_directory d;
		const unsigned char *data;

		if (ige_header_unpack(&v.header, v.bytes, NULL))
			abort();
		ige_columns_begin(&columns, &v);
		while (v.header.type == IGE_RECORDS && ige_columns_next(&columns, &d, &data))
			in.p[(const char *)data - in.p] ^= 1;
		at += v.header.length;
	}
	merge_bytes(&in, &opt, &out);
	r = fixture_reader(w, out.p, out.n);
	s = ige_reader_stream(r);
	while (s->next(s, &item, NULL) == 1) {
		events += item.kind == STREAM_EVENTS ? item.n : 0;
		if (item.kind != STREAM_RECORD)
			continue;
		losses += item.record->kind == RECORD_LOSS;
		others += item.record->kind != RECORD_LOSS;
	}
	is_u64(events, 200, "records of which nothing is left: all events");
	ok(losses > 0, "and that something was lost");
	is_u64(others, 0, "and no record without a value");
	ige_reader_free(r);
	world_free(w);
	buf_free(&in);
	buf_free(&out);
}

/* How many calls are open in a part, as who analyzes it is told. */
static uint64_t cut_calls(const struct buf *in, int64_t since_ns)
{
	char name[] = "/tmp/ingero-merge-XXXXXX";
	const char *names[] = { name };
	struct filter sel = { .since = { .kind = FILTER_OWN, .own_ns = since_ns }, .calls = true };
	struct world *w = world_new();
	struct filter_cut cut = { 0 };
	struct stream_item item;
	struct input *input;
	uint64_t n = 0;
	struct err e;
	bool left;
	int fd = mkstemp(name);

	if (fd < 0 || write(fd, in->p, in->n) != (ssize_t)in->n || close(fd) ||
	    input_open_within(&input, w, names, 1, &sel, &e))
		abort();
	unlink(name);
	while (input_stream(input)->next(input_stream(input), &item, &e) > 0)
		if (!filter_cut_item(&cut, &sel, w, &item, &left, &e) && left)
			n += item.kind == STREAM_RECORD && item.record->kind == RECORD_OPEN;
	filter_cut_free(&cut);
	filter_free(&sel);
	input_free(input);
	world_free(w);
	return n;
}

/* A recorder that was killed said once that a call of the second thread was open, before the part. */
static void opened(struct fixture *f)
{
	static const struct {
		const char *what;
		uint32_t returns, exits;
		bool clean, told;
	} cases[] = {
		{ "never returns", 0, 0, false, true },
		{ "returned before the part", 40, 0, false, false },
		{ "returns in it", 80, 0, false, true },
		{ "its process ended before it", 0, 40, false, false },
		{ "of a recording that has an end, where it would be told", 0, 0, true, false },
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct filter sel = { .resolved = true,
				      .since_ns = fixture_event(f, 60).end_ns,
				      .until_ns = INT64_MAX };
		struct merge_options opt = { .select = &sel };
		struct fixture_sink s = { 0 };
		struct ige_writer *wr = fixture_writer(f, &s, 10);
		struct record r = { .kind = RECORD_OPEN };
		struct world *w = world_new();
		struct event_stream *stream;
		struct ige_reader *reader;
		struct stream_item item;
		struct buf out;
		uint64_t told = 0, events = 0;

		REC_SET(&r, OPEN, thread, f->thread[1]);
		REC_SET(&r, OPEN, op, OP_CUDA_STREAM_SYNC);
		REC_SET(&r, OPEN, start_ns, fixture_event(f, 10).end_ns);
		REC_SET(&r, OPEN, time_ns, fixture_event(f, 20).end_ns);
		REC_SET(&r, OPEN, depth, 0);
		for (uint32_t i = 0; i < 100; i++) {
			struct event ev = fixture_event(f, i - i % 2);

			ev.end_ns += i % 2;
			if (i && i == cases[k].returns) {
				ev.op = OP_CUDA_STREAM_SYNC;
				ev.ctx = f->ctx[1];
				ev.dur_ns = (uint64_t)(ev.end_ns - r.u.OPEN.start_ns);
			}
			if (i && i == cases[k].exits) {
				ev.op = OP_PROC_EXIT;
				ev.dur_ns = 0;
			}
			if (ige_writer_event(wr, &ev, NULL) ||
			    (i == 20 && ige_writer_record(wr, &r, NULL)))
				abort();
		}
		if (cases[k].clean
			    ? ige_writer_finish(wr, NULL)
			    : ige_writer_flush(wr, fixture_event(f, 100).end_ns, 0, true, NULL))
			abort();
		ige_writer_free(wr);
		is_u64(cut_calls(&s.bytes, sel.since_ns), cases[k].told,
		       "an analysis of a part behind an open call: %s", cases[k].what);
		merge_bytes(&s.bytes, &opt, &out);
		reader = fixture_reader(w, out.p, out.n);
		stream = ige_reader_stream(reader);
		while (stream->next(stream, &item, NULL) == 1) {
			events += item.kind == STREAM_EVENTS ? item.n : 0;
			if (item.kind != STREAM_RECORD || item.record->kind != RECORD_OPEN)
				continue;
			told++;
			is_int(item.record->u.OPEN.time_ns, sel.since_ns, "open where it begins");
			is_u64(events, 0, "told before anything happens in it");
		}
		is_u64(told, cases[k].told, "a part behind an open call: %s", cases[k].what);
		is_u64(events, 40, "all its events");
		ige_reader_free(reader);
		world_free(w);
		buf_free(&out);
		buf_free(&s.bytes);
	}
}

int main(void)
{
	struct fixture f;

	fixture_init(&f);
	shifting();
	slicing(&f);
	opened(&f);
	naming(&f);
	holes(&f);
	nothing_left(&f);
	world_free(f.w);
	return tap_done();
}
