/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target without a fuzzer, for `make check`: blocks of a small recording in the target's
 * form, thousands of mutations of them, and the files named as arguments (what a fuzzer found). The
 * target aborts where something is wrong. Included behind the target, by tests/unit/fuzz_NAME.c,
 * which calls replay().
 */
#ifndef INGERO_TESTS_FUZZ_REPLAY_H
#define INGERO_TESTS_FUZZ_REPLAY_H

#include "lib/base/io.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/files.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

/* One of the recording's blocks as the bytes tests/fuzz/block.h makes a block of; raw: as it
 * stands. */
static inline void replay_form(struct buf *out, const struct ige_view *v, bool raw)
{
	unsigned char head[8] = { v->header.flags };
	struct ige_columns columns;
	struct ige_directory d;
	const unsigned char *data;

	if (raw) {
		buf_add(out, v->bytes, v->header.length);
		return;
	}
	le_put(head + 1, 2, v->header.n);
	head[3] = 40;
	buf_add(out, head, 4);
	for (ige_columns_begin(&columns, v); ige_columns_next(&columns, &d, &data);) {
		le_put(head, 2, d.id);
		head[2] = (unsigned char)(d.encoding | d.compressor << 4);
		head[3] = (unsigned char)(d.width | d.critical << 7);
		le_put(head + 4, 2, d.count);
		le_put(head + 6, 2, d.length);
		buf_add(out, head, 8);
		buf_add(out, data, d.length);
	}
}

/* type: of the blocks to begin with; 0: of all of them, as they stand. */
static inline int replay(int argc, char **argv, unsigned type)
{
	VEC(struct buf) seeds = { 0 };
	struct fixture f;
	unsigned rounds = 0;

	replay_files(argc, argv);
	fixture_init(&f);
	for (int archive = 0; archive < 2; archive++) {
		struct ige_writer_options opt = { .archive = archive, .clock_id = 1 };
		struct fixture_sink s = { .sink = { fixture_put } };
		struct ige_writer *wr;
		struct record r = { .kind = RECORD_SESSION };

		REC_SET(&r, SESSION, start_ns, -5);
		REC_SET(&r, SESSION, tool, bytes_of("ingero-test"));
		if (ige_writer_new(&wr, f.w, &s.sink, &opt, NULL) ||
		    ige_writer_record(wr, &r, NULL))
			abort();
		for (uint32_t i = 0; i < 200; i++) {
			struct event ev = fixture_event(&f, i);

			if (ige_writer_event(wr, &ev, NULL))
				abort();
		}
		if (ige_writer_finish(wr, NULL))
			abort();
		ige_writer_free(wr);
		for (size_t at = IGE_SEGMENT_BYTES; at < s.bytes.n;) {
			struct ige_view v = { .bytes = (unsigned char *)s.bytes.p + at };
			struct buf seed = { 0 };

			if (ige_header_unpack(&v.header, v.bytes, NULL))
				abort();
			at += v.header.length;
			if (type && v.header.type != type)
				continue;
			replay_form(&seed, &v, !type);
			if (!vec_push(&seeds, seed))
				abort();
		}
		buf_free(&s.bytes);
	}
	for (; seeds.n && rounds < REPLAY_ROUNDS; rounds++) {
		const struct buf *seed = &seeds.v[replay_below((uint32_t)seeds.n)];
		struct buf copy = { 0 };

		buf_add(&copy, seed->p, seed->n);
		for (unsigned m = replay_below(8); m > 0 && copy.n; m--)
			replay_mutate(&copy);
		LLVMFuzzerTestOneInput((const uint8_t *)copy.p, copy.n);
		buf_free(&copy);
	}
	is_u64(rounds, REPLAY_ROUNDS, "mutated blocks, beginning with %zu", seeds.n);
	for (size_t i = 0; i < seeds.n; i++)
		buf_free(&seeds.v[i]);
	vec_free(&seeds);
	world_free(f.w);
	return tap_done();
}

#endif
