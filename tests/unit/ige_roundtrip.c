/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a recording comes out of it, in another world, in any cut, and twice when
 * concatenated. */
#include <stdio.h>
#include <unistd.h>

#include "lib/world/event_order.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

/* Same content although ids differ: compared through names, numbers and columns. */
static bool same_event(const struct world *wa, const struct event *a, const struct world *wb,
		       const struct event *b)
{
	const struct op_def *def = world_op(wa, a->op);
	const struct world_ctx *ca = world_get_ctx(wa, a->ctx), *cb = world_get_ctx(wb, b->ctx);
	unsigned na, nb;
	const uint32_t *fa = world_get_stack(wa, a->stack, &na),
		       *fb = world_get_stack(wb, b->stack, &nb);

	if (a->end_ns != b->end_ns || a->dur_ns != b->dur_ns || a->op != b->op ||
	    a->depth != b->depth || a->ret != b->ret || a->present != b->present || !ca != !cb ||
	    na != nb || world_stack_end(wa, a->stack) != world_stack_end(wb, b->stack))
		return false;
	if (ca && ca->thread) {
		const struct world_thread *ta = world_get_thread(wa, ca->thread),
					  *tb = world_get_thread(wb, cb->thread);

		if (!tb || ta->tid != tb->tid || ta->start_ns != tb->start_ns)
			return false;
	}
	for (unsigned i = 0; i < na; i++) {
		const struct world_symbol *sa = world_get_symbol(wa, fa[i]),
					  *sb = world_get_symbol(wb, fb[i]);

		if (!sa || !sb || !bytes_equal(world_text(wa, sa->name), world_text(wb, sb->name)))
			return false;
	}
	for (unsigned i = 0; i < def->ncols; i++) {
		if (!(a->present >> i & 1))
			continue;
		if (world_column(wa, def->cols[i])->role == ROLE_THREAD) {
			if (world_get_thread(wa, (uint32_t)a->x[i])->tid !=
			    world_get_thread(wb, (uint32_t)b->x[i])->tid)
				return false;
		} else if (a->x[i] != b->x[i]) {
			return false;
		}
	}
	return true;
}

static void test_events(uint32_t n, uint32_t block)
{
	struct fixture f;
	struct buf file = { 0 };
	struct world *w = world_new();
	struct ige_reader *r;
	struct stream_item item;
	struct err e = { 0 };
	uint64_t events = 0, wrong = 0, samples = 0, sessions = 0, lasts = 0;
	int rc;

	fixture_init(&f);
	fixture_recording(&f, &file, n, block);
	r = fixture_reader(w, file.p, file.n);
	struct event_stream *s = ige_reader_stream(r);
	while ((rc = s->next(s, &item, &e)) == 1) {
		if (item.kind == STREAM_EVENTS)
			for (size_t i = 0; i < item.n; i++, events++) {
				struct event want = fixture_event(&f, (uint32_t)events);

				wrong += !same_event(f.w, &want, w, &item.events[i]);
			}
		if (item.kind == STREAM_RECORD && item.record->kind == RECORD_SAMPLE) {
			uint32_t i = (uint32_t)samples++ * 50 + 49;

			wrong += item.record->u.SAMPLE.value != 12.5 + i;
			wrong += REC_HAS(item.record, SAMPLE, process) != (i % 100 == 99);
			if (REC_HAS(item.record, SAMPLE, process))
				wrong +=
					world_get_process(w, item.record->u.SAMPLE.process)->tgid !=
					4242;
		}
		if (item.kind == STREAM_RECORD && item.record->kind == RECORD_SESSION) {
			sessions++;
			wrong += item.record->u.SESSION.start_ns != -5 ||
				 REC_HAS(item.record, SESSION, target) ||
				 !bytes_equal(item.record->u.SESSION.tool, bytes_of("ingero-test"));
		}
		lasts += item.kind == STREAM_LAST;
	}
	is_int(rc, 0, "%u events in blocks of %u: read to the end%s%s", n, block, rc ? ": " : "",
	       e.text);
	is_u64(events, n, "all events");
	is_u64(samples, n / 50, "all samples");
	is_u64(sessions, 1, "the session");
	is_u64(lasts, 1, "the clean end");
	is_u64(wrong, 0, "all values equal");
	ok(!ige_reader_report(r)->unterminated && !ige_reader_report(r)->damaged_blocks,
	   "nothing to report");
	ige_reader_free(r);
	buf_free(&file);
	world_free(w);
	world_free(f.w);
}

static void test_cat(void)
{
	struct fixture f;
	struct buf file = { 0 };
	struct world *w = world_new();
	struct ige_reader *r;
	struct stream_item item;
	struct err e = { 0 };
	uint64_t events = 0;
	uint32_t stacks;

	fixture_init(&f);
	fixture_recording(&f, &file, 1000, 128);
	buf_reserve(&file, file.n); /* so that what is added does not move */
	buf_add(&file, file.p, file.n);
	r = fixture_reader(w, file.p, file.n);
	struct event_stream *s = ige_reader_stream(r);
	while (s->next(s, &item, &e) == 1)
		events += item.n;
	stacks = world_count(w, WORLD_STACK);
	is_u64(events, 2000, "two files in a row read as both");
	is_u64(ige_reader_report(r)->segments, 2, "two segments");
	is_u64(stacks, 3, "with the same ids for the same things");
	ige_reader_free(r);
	buf_free(&file);
	world_free(w);
	world_free(f.w);
}

/* Events in any order within the window come out in order; older ones in a LATE block. */
static void test_order(void)
{
	struct fixture f;
	struct fixture_sink sink = { 0 };
	struct ige_writer *wr;
	struct ige_reader *r;
	struct stream_item item;
	struct err e = { 0 };
	uint64_t seen = 0, disorder = 0, late = 0;
	struct event last = { .end_ns = INT64_MIN };
	struct world *w = world_new();
	uint32_t x = 1;

	fixture_init(&f);
	wr = fixture_writer(&f, &sink, 64);
	for (uint32_t i = 0; i < 1000; i++) {
		struct event ev;

		x = x * 1664525 + 1013904223;
		ev = fixture_event(&f, i / 10 * 10 + x % 10);
		ige_writer_event(wr, &ev, &e);
		if (i % 10 == 9)
			ige_writer_flush(wr, 1000000000 + (int64_t)i * 1000, 999999000, false, &e);
	}
	for (uint32_t i = 0; i < 5; i++) {
		struct event ev = fixture_event(&f, i);

		ige_writer_event(wr, &ev, &e);
	}
	is_int(ige_writer_finish(wr, &e), 0, "written");
	ige_writer_free(wr);
	r = fixture_reader(w, sink.bytes.p, sink.bytes.n);
	struct event_stream *s = ige_reader_stream(r);
	while (s->next(s, &item, &e) == 1) {
		if (item.late)
			late += item.n;
		for (size_t i = 0; i < item.n && !item.late; i++, seen++) {
			disorder += seen && world_event_order(w, &last, &item.events[i]) > 0;
			last = item.events[i];
		}
	}
	is_u64(seen, 1000, "all in place");
	is_u64(disorder, 0, "in canonical order");
	is_u64(late, 5, "what came too late is flagged");
	ige_reader_free(r);
	buf_free(&sink.bytes);
	world_free(w);
	world_free(f.w);
}

/* Files read later bring ops that nobody knew when the segment began. */
static void test_late_op(bool archive)
{
	static const struct column_def column = { 30000, "shade", ROLE_OPAQUE, "" };
	static const struct op_def op = { .id = 200 << 8 | 1,
					  .source = 200,
					  .name = "paint",
					  .source_name = "later",
					  .track = TRACK_INSTANT,
					  .ncols = 1,
					  .cols = { 30000 } };
	struct ige_writer_options opt = { .block_events = 50, .index = true, .archive = archive };
	struct fixture_sink sink = { .sink = { fixture_put } };
	struct world *w = world_new();
	uint64_t events = 0, painted = 0, v;
	struct event_stream *s;
	struct ige_writer *wr;
	struct ige_reader *r;
	struct stream_item item;
	struct fixture f;
	struct err e = { 0 };

	fixture_init(&f);
	if (ige_writer_new(&wr, f.w, &sink.sink, &opt, &e))
		abort();
	for (uint32_t i = 0; i < 400; i++) {
		struct event ev = fixture_event(&f, i);

		if (i == 210 && !(world_column_define(f.w, &column) && world_op_define(f.w, &op)))
			abort();
		if (i >= 210 && i % 2) {
			ev = (struct event){ .end_ns = ev.end_ns, .op = op.id, .ctx = f.ctx[0] };
			event_set(&ev, &op, 30000, i);
		}
		ige_writer_event(wr, &ev, &e);
		if (i % 20 == 19)
			ige_writer_flush(wr, ev.end_ns, INT64_MIN, false, &e);
	}
	is_int(ige_writer_finish(wr, &e), 0, "an op that is defined late%s",
	       archive ? ", in an archive" : "");
	ige_writer_free(wr);
	r = fixture_reader(w, sink.bytes.p, sink.bytes.n);
	s = ige_reader_stream(r);
	while (s->next(s, &item, &e) == 1)
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++, events++)
			painted += item.events[i].op == op.id &&
				   event_get(&item.events[i], world_op(w, op.id), 30000, &v) &&
				   v >= 210;
	is_u64(events, 400, "all events");
	is_u64(painted, 95, "all of it with their values");
	is_u64(ige_reader_report(r)->damaged_blocks, 0, "and nothing is damaged");
	ige_reader_free(r);
	buf_free(&sink.bytes);
	world_free(w);
	world_free(f.w);
}

int main(void)
{
	static const struct {
		uint32_t n, block;
	} rows[] = { { 0, 0 },	    { 1, 0 },	  { 7, 1 },	   { 1000, 16 },
		     { 1000, 100 }, { 20000, 0 }, { 70000, 65536 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_events(rows[i].n, rows[i].block);
	test_cat();
	test_order();
	test_late_op(false);
	test_late_op(true);
	return tap_done();
}
