/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target merge over mutations of two recordings, of one machine and of two. */
#include "tests/fuzz/merge.c"
#include "tests/fuzz/replay.h"

static void recording(struct fixture *f, struct buf *out, uint32_t n, uint64_t boot)
{
	struct ige_writer_options opt = {
		.index = true, .clock_id = 1, .block_events = 20, .boot = boot
	};
	struct fixture_sink s = { .sink = { fixture_put } };
	struct record clock = { .kind = RECORD_CLOCK };
	struct ige_writer *wr;
	int rc = ige_writer_new(&wr, f->w, &s.sink, &opt, NULL);

	REC_SET(&clock, CLOCK, mono_ns, 5);
	REC_SET(&clock, CLOCK, real_ns, 50);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct event ev = fixture_event(f, i);

		rc = ige_writer_event(wr, &ev, NULL);
		if (i % 50 == 49 && !rc)
			rc = ige_writer_record(wr, &clock, NULL);
		if (i % 50 == 49 && !rc)
			rc = ige_writer_flush(wr, ev.end_ns, ev.end_ns, false, NULL);
	}
	if (rc || ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	buf_add(out, s.bytes.p, s.bytes.n);
	buf_free(&s.bytes);
}

int main(int argc, char **argv)
{
	struct fixture f;
	unsigned rounds = 0;

	replay_files(argc, argv);
	fixture_init(&f);
	for (unsigned k = 0; k < 2; k++) {
		struct buf whole = { 0 };
		unsigned char length[4];

		buf_add(&whole, "\0\0\0\0", 4);
		recording(&f, &whole, 150, 77);
		le_put(length, 4, whole.n - 4);
		memcpy(whole.p, length, 4);
		recording(&f, &whole, 110, k ? 78 : 77);
		for (unsigned i = 0; i < 500; i++, rounds++) {
			struct buf copy = { 0 };

			buf_add(&copy, whole.p, whole.n);
			for (unsigned m = replay_below(4); m > 0; m--)
				replay_mutate(&copy);
			LLVMFuzzerTestOneInput((const uint8_t *)copy.p, copy.n);
			buf_free(&copy);
		}
		buf_free(&whole);
	}
	is_u64(rounds, 1000, "what is merged of mutated recordings is sound, and all there is");
	world_free(f.w);
	return tap_done();
}
