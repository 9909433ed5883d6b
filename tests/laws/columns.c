/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Law: reading columns tells the same as reading events, of whole recordings, plain and archived,
 * and with a bit flipped anywhere, whether checksums notice or were made to fit.
 */
#include <stdio.h>

#include "lib/sim/corpus.h"
#include "tests/fuzz/both.h"
#include "tests/fuzz/mend.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

static void generated(struct buf *out, uint64_t events, bool archive)
{
	struct world *w = world_new();
	struct sim_corpus_options o = { .seed = events, .events = events };
	struct ige_writer_options opt = { .clock_id = 1, .archive = archive };
	struct fixture_sink sink = { .sink.put = fixture_put };
	struct event_stream *s;
	struct stream_item item;
	struct ige_writer *wr;
	uint64_t since = 0;

	if (sim_corpus_open(&s, w, &o, NULL) || ige_writer_new(&wr, w, &sink.sink, &opt, NULL))
		abort();
	while (s->next(s, &item, NULL) == 1)
		for (size_t i = 0; i < item.n; i++) {
			if (ige_writer_event(wr, &item.events[i], NULL))
				abort();
			if (++since % 700 == 0 &&
			    ige_writer_flush(wr, item.events[i].end_ns, item.events[i].end_ns, true,
					     NULL))
				abort();
		}
	if (ige_writer_finish(wr, NULL))
		abort();
	ige_writer_free(wr);
	buf_add(out, sink.bytes.p, sink.bytes.n);
	buf_free(&sink.bytes);
	s->close(s);
	world_free(w);
}

static bool agree(const void *p, size_t n, uint64_t *events)
{
	struct heard a, b;

	hear_events(&a, p, n);
	hear_columns(&b, p, n);
	*events = a.n;
	return both_same(&a, &b);
}

static void test(const char *name, const struct buf *file, uint64_t events, size_t step)
{
	unsigned char *copy = malloc(file->n);
	uint64_t n, wrong = 0, cost = 0, rounds = 0;
	char first[80] = "";
	bool same;

	same = agree(file->p, file->n, &n);
	ok(same && n >= events, "%s: %llu events both ways", name, (unsigned long long)n);
	events = n;
	for (size_t at = 0; at < file->n; at += step)
		for (int mended = 0; mended < 2; mended++, rounds++) {
			memcpy(copy, file->p, file->n);
			copy[at] ^= (unsigned char)(1u << (at + at / 7) % 8);
			if (mended)
				mend(copy, file->n);
			if (!agree(copy, file->n, &n) && !wrong++)
				snprintf(first, sizeof(first), ": first at byte %zu%s", at,
					 mended ? ", mended" : "");
			cost += n < events;
		}
	is_u64(wrong, 0, "%s, %llu times with a bit flipped%s", name, (unsigned long long)rounds,
	       first);
	ok(cost > rounds / 10, "%llu of them cost events", (unsigned long long)cost);
	free(copy);
}

int main(void)
{
	struct buf file = { 0 };
	struct fixture f;

	fixture_init(&f);
	fixture_recording(&f, &file, 120, 50);
	test("the fixture", &file, 120, 5);
	world_free(f.w);
	buf_reset(&file);
	generated(&file, 3000, false);
	test("a generated recording", &file, 3000, file.n / 150);
	buf_reset(&file);
	generated(&file, 3000, true);
	test("an archive", &file, 3000, file.n / 150);
	buf_free(&file);
	return tap_done();
}
