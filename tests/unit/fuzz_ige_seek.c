/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzz target ige_seek over mutations of recordings with an index, most of them in the index
 * itself. */
#include "tests/fuzz/ige_seek.c"
#include "tests/fuzz/replay.h"

static void recording(struct fixture *f, struct buf *out, uint32_t n, uint64_t segment_bytes)
{
	struct ige_writer_options opt = {
		.index = true, .clock_id = 1, .block_events = 20, .segment_bytes = segment_bytes
	};
	struct fixture_sink s = { .sink = { fixture_put } };
	struct ige_writer *wr;
	int rc = ige_writer_new(&wr, f->w, &s.sink, &opt, NULL);

	for (uint32_t i = 0; i < n && !rc; i++) {
		struct event ev = fixture_event(f, i);

		rc = ige_writer_event(wr, &ev, NULL);
		if (i % 50 == 49 && !rc)
			rc = ige_writer_flush(wr, ev.end_ns, ev.end_ns, false, NULL);
	}
	if (rc || ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	buf_add(out, s.bytes.p, s.bytes.n);
	buf_free(&s.bytes);
}

/* Where some INDEX or TRAILER block begins. */
static size_t some_index(const struct buf *b)
{
	size_t found = 0;

	for (size_t at = 0; at < b->n;) {
		if (!memcmp(b->p + at, IGE_SEGMENT_MAGIC, 8)) {
			at += IGE_SEGMENT_BYTES;
			continue;
		}
		if (b->p[at + 4] >= IGE_INDEX && (!found || replay_below(2)))
			found = at;
		at += le_get(b->p + at + 8, 4);
	}
	return found;
}

int main(int argc, char **argv)
{
	struct fixture f;
	unsigned rounds = 0;

	replay_files(argc, argv);
	fixture_init(&f);
	for (unsigned k = 0; k < 3; k++) {
		struct buf whole = { 0 };

		recording(&f, &whole, 150, k ? 3000 : 0);
		if (k == 2)
			recording(&f, &whole, 60, 0);
		for (unsigned i = 0; i < 1000; i++, rounds++) {
			struct buf copy = { 0 };

			buf_add(&copy, whole.p, whole.n);
			for (unsigned m = replay_below(4); m > 0; m--) {
				size_t at = some_index(&whole) + replay_below(200);

				if (i % 3 == 0)
					replay_mutate(&copy);
				else if (at < copy.n)
					copy.p[at] =
						(char)(replay_below(2) ? (uint8_t)copy.p[at] + 1u
								       : replay_below(256));
			}
			LLVMFuzzerTestOneInput((const uint8_t *)copy.p, copy.n);
			buf_free(&copy);
		}
		buf_free(&whole);
	}
	is_u64(rounds, 3000, "what is sought in mutated recordings is what is read in them");
	world_free(f.w);
	return tap_done();
}
