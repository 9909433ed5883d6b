/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a sequence of events, in any order, with flushes between them,
 * plain and archived, written and read back: every event comes out as it went in, once, and what is
 * not late in the order of streams. tests/unit/fuzz_ige_writer.c replays inputs.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/dict_reader.h"
#include "tests/unit/fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

#define EACH 12 /* bytes of an event */

static struct event make(const struct fixture *f, const uint8_t *p)
{
	unsigned nops;
	const struct op_def *ops = op_builtin_all(&nops), *def = &ops[p[0] % nops];
	uint64_t seed = le_get(p + 4, 8);
	struct event ev = { .op = def->id,
			    .depth = p[1] & 3,
			    .ret = (int8_t)p[2],
			    .ctx = p[1] & 4 ? f->cpu_ctx : f->ctx[p[1] >> 3 & 1],
			    .stack = p[1] & 16 ? f->stack[p[2] % 3] : 0,
			    .end_ns = (int16_t)le_get(p + 4, 2) * (p[1] & 32 ? 1 : 1000003ll),
			    .dur_ns = p[6] ? seed >> (p[6] & 63) >> 3 : 0 };

	for (unsigned i = 0; i < def->ncols; i++) {
		int kind = world_kind_of_role(column_builtin(def->cols[i])->role);

		if (!(p[3] >> i % 8 & 1))
			continue;
		ev.present |= 1u << i;
		ev.x[i] = kind < 0 ? seed >> i : world_count(f->w, (enum world_kind)kind) ? 1 : 0;
	}
	return ev;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct event));
}

static void there_and_back(const struct fixture *f, const uint8_t *p, size_t n, bool archive)
{
	struct ige_writer_options opt = { .archive = archive,
					  .clock_id = 1,
					  .block_events = 1 + p[0] % 64,
					  .window_ns = p[1] * 100000u,
					  .index = p[2] & 1 };
	struct fixture_sink s = { .sink = { fixture_put } };
	VEC(struct event) in = { 0 }, out = { 0 };
	struct stream_item item;
	struct event_stream *stream;
	struct ige_writer *wr;
	struct ige_reader *r;

	if (ige_writer_new(&wr, f->w, &s.sink, &opt, NULL))
		abort();
	for (size_t at = 3; at + EACH <= n; at += EACH) {
		struct event ev = make(f, p + at);

		if (ev.dur_ns >= (uint64_t)IGE_TIME_MAX / 2)
			ev.dur_ns = 0;
		if (ige_writer_event(wr, &ev, NULL) || !vec_push(&in, ev))
			abort();
		if (p[at + 1] & 64 &&
		    ige_writer_flush(wr, ev.end_ns, INT64_MIN, p[at + 1] & 128, NULL))
			abort();
	}
	if (ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	r = fixture_reader(f->w, s.bytes.p, s.bytes.n);
	stream = ige_reader_stream(r);
	while (stream->next(stream, &item, NULL) > 0)
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++) {
			const struct event *before = out.n ? &out.v[out.n - 1] : NULL;

			if (i && !item.late && before->end_ns > item.events[i].end_ns)
				abort();
			if (!vec_push(&out, item.events[i]))
				abort();
		}
	if (in.n != out.n || ige_reader_report(r)->damaged_blocks)
		abort();
	for (size_t i = 0; i < in.n; i++) {
		out.v[i].site = 0; /* what was written is of no stream yet */
		for (unsigned k = 0; k < OP_COLUMNS_MAX; k++)
			if (!(out.v[i].present >> k & 1))
				out.v[i].x[k] = 0;
	}
	if (in.n) {
		qsort(in.v, in.n, sizeof(in.v[0]), by_bytes);
		qsort(out.v, out.n, sizeof(out.v[0]), by_bytes);
		if (memcmp(in.v, out.v, in.n * sizeof(in.v[0])))
			abort();
	}
	ige_reader_free(r);
	vec_free(&in);
	vec_free(&out);
	buf_free(&s.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct fixture f;

	if (!f.w)
		fixture_init(&f);
	if (n < 3 || n > 20000)
		return 0;
	there_and_back(&f, p, n, false);
	there_and_back(&f, p, n, true);
	return 0;
}
