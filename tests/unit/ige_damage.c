/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small recording, cut and flipped at every byte: nothing crashes, every damage is reported, and
 * every block that is intact is used.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/wirebytes.h"
#include "lib/ige/block.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

struct outcome {
	uint64_t events;
	int rc;
	struct ige_report report;
	char text[200];
};

static struct outcome outcome_of(const char *p, size_t n)
{
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, p, n);
	struct event_stream *s = ige_reader_stream(r);
	struct outcome o = { 0 };
	struct stream_item item;
	struct err e = { 0 };

	while ((o.rc = s->next(s, &item, &e)) == 1)
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++)
			/* Ids of whatever survives must be of this world. */
			if (item.events[i].ctx > world_count(w, WORLD_CTX) ||
			    item.events[i].stack > world_count(w, WORLD_STACK) ||
			    !world_op(w, item.events[i].op))
				abort();
			else
				o.events++;
	snprintf(o.text, sizeof(o.text), "%.*s", (int)sizeof(o.text) - 1, e.text);
	o.report = *ige_reader_report(r);
	ige_reader_free(r);
	world_free(w);
	return o;
}

struct piece {
	size_t from, to;
	uint32_t events; /* 0 for everything but EVENTS blocks */
	bool definitions;
};

static size_t pieces_of(const struct buf *file, struct piece *pieces, size_t max)
{
	size_t n = 0;

	for (size_t at = 0; at < file->n && n < max; n++) {
		const unsigned char *p = (const unsigned char *)file->p + at;
		struct ige_header h;

		if (ige_header_unpack(&h, p, NULL) == 0)
			pieces[n] =
				(struct piece){ at, at + h.length, h.type == IGE_EVENTS ? h.n : 0,
						h.type == IGE_DICT || h.type == IGE_SCHEMA };
		else
			pieces[n] = (struct piece){ at, at + IGE_SEGMENT_BYTES, 0, false };
		at = pieces[n].to;
	}
	return n;
}

static void test_cuts(const struct buf *file, const struct piece *pieces, size_t n)
{
	uint64_t wrong = 0, silent = 0, failed = 0;

	for (size_t cut = 1; cut < file->n; cut++) {
		struct outcome o = outcome_of(file->p, cut);
		uint64_t whole = 0;

		for (size_t i = 0; i < n && pieces[i].to <= cut; i++)
			whole += pieces[i].events;
		wrong += o.events != whole;
		silent += !o.report.truncated && !o.report.unterminated;
		failed += o.rc != 0;
	}
	is_u64(wrong, 0, "cut at each of %zu bytes: exactly the whole blocks are read", file->n);
	is_u64(silent, 0, "and the cut is always reported");
	is_u64(failed, 0, "and never an error in itself");
}

static void test_flips(const struct buf *file, const struct piece *pieces, size_t n, uint64_t total)
{
	uint64_t lost_others = 0, silent = 0, extra = 0, refused = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t at = pieces[i].from; at < pieces[i].to; at++)
			for (int bit = 0; bit < 8; bit += 3) {
				struct outcome o;

				file->p[at] ^= (char)(1 << bit);
				o = outcome_of(file->p, file->n);
				file->p[at] ^= (char)(1 << bit);
				refused += o.rc != 0;
				extra += o.events > total;
				/* Without its definitions an event cannot be told; all else must be
				 * there. */
				if (!pieces[i].definitions)
					lost_others += o.events < total - pieces[i].events;
				/* Bytes between columns carry nothing. */
				if (!o.report.damaged_blocks && !o.report.skipped_bytes &&
				    !o.report.unknown_blocks)
					silent += o.events != total;
			}
	is_u64(refused, 0, "a flip at each byte is never an error in itself");
	is_u64(extra, 0, "and never adds an event");
	is_u64(lost_others, 0, "and costs no event of another block");
	is_u64(silent, 0, "and nothing is lost without a report");
}

static void test_others(const struct buf *file)
{
	struct buf copy = { 0 };
	struct outcome o = outcome_of("", 0);
	char noise[5000];

	ok(o.rc == 0 && o.report.empty, "an empty input is called empty");
	o = outcome_of("SQLite format 3\0 and more text that is no recording, long enough to be "
		       "looked at whole "
		       "and to be refused",
		       100);
	ok(o.rc == ERR_DAMAGED, "another file is refused");
	like(o.text, "test.ige is not an .ige file", "by name");
	srand(1);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)rand();
	o = outcome_of(noise, sizeof(noise));
	is_int(o.rc, ERR_DAMAGED, "noise too");
	/* Noise in front of and between the blocks of two recordings. */
	buf_add(&copy, file->p, file->n);
	buf_add(&copy, noise, 777);
	buf_add(&copy, file->p, file->n);
	o = outcome_of(copy.p, copy.n);
	is_u64(o.events, 2 * outcome_of(file->p, file->n).events,
	       "noise between two recordings is passed over");
	is_u64(o.report.skipped_bytes, 777, "and counted to the byte");
	/* A newer major version. */
	copy.n = file->n;
	memcpy(copy.p, file->p, file->n);
	struct ige_segment s;
	ige_segment_unpack(&s, (unsigned char *)copy.p, NULL);
	s.major = IGE_MAJOR + 1;
	ige_segment_pack(&s, (unsigned char *)copy.p);
	o = outcome_of(copy.p, copy.n);
	ok(o.rc == ERR_TOO_NEW && o.report.too_new, "a newer version is called newer, not damaged");
	like(o.text, "needs a newer version", "in words");
	buf_free(&copy);
}

int main(void)
{
	struct fixture f;
	struct buf file = { 0 };
	struct piece pieces[64];
	size_t n;

	fixture_init(&f);
	fixture_recording(&f, &file, 120, 50);
	n = pieces_of(&file, pieces, 64);
	is_u64(pieces[n - 1].to, file.n, "the recording is %zu bytes in %zu pieces", file.n, n);
	is_u64(outcome_of(file.p, file.n).events, 120, "whole, it has 120 events");
	test_cuts(&file, pieces, n);
	test_flips(&file, pieces, n, 120);
	test_others(&file);
	buf_free(&file);
	world_free(f.w);
	return tap_done();
}
