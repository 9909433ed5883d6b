/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings whose checksums are right and whose content is not: bytes of columns, directories and
 * headers are changed and every checksum above them made to fit. Whatever comes out must be of this
 * world and within the format's limits; nothing may crash, hang or grow without bound.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/deflate.h"
#include "lib/base/wirebytes.h"
#include "lib/ige/block.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define ROUNDS 2000

static uint64_t state = 1;

static uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* Numbers that break things more often than others. */
static uint64_t nasty(void)
{
	static const uint64_t some[] = { 0,	    1,		2,	    0x7f,	0x80,
					 0xff,	    0x7fff,	0xffff,	    0x10000,	0x10001,
					 0x3fffff,  0x400000,	0x7fffffff, 0x80000000, 0xffffffff,
					 INT64_MAX, 1ull << 63, UINT64_MAX, 1ull << 62, 8192 };

	return some[random_below(sizeof(some) / sizeof(some[0]))];
}

static void change(unsigned char *p, size_t n)
{
	static const unsigned widths[] = { 1, 1, 2, 4, 8 };
	unsigned width = widths[random_below(5)];
	size_t at = random_below((uint32_t)n);

	if (width > n - at)
		width = 1;
	if (random_below(3))
		le_put(p + at, width, nasty());
	else
		p[at] ^= (unsigned char)(1u << random_below(8));
}

/* Column i of a checked block. */
static void column(const struct ige_view *v, unsigned i, struct ige_directory *d,
		   const unsigned char **data)
{
	struct ige_columns c;

	ige_columns_begin(&c, v);
	do
		if (!ige_columns_next(&c, d, data))
			abort();
	while (i--);
}

static void mend_directory(unsigned char *block, unsigned ncol)
{
	le_put(block + 56, 4, crc_bytes(0, block + IGE_BLOCK_BYTES, ncol * IGE_DIRECTORY_BYTES));
}

static void mend_header(unsigned char *block)
{
	le_put(block + 60, 4, crc_bytes(0, block, 60));
}

/* Change one thing in the block at p and make its checksums fit. */
static void attack(unsigned char *p, const struct ige_header *h)
{
	struct ige_view v = { .header = *h, .bytes = p };
	unsigned what = random_below(4), i;
	struct ige_directory d;
	const unsigned char *data;

	/* A header or directory that an earlier change made senseless stays as it is. */
	ige_header_unpack(&v.header, p, NULL);
	if (v.header.ncol != h->ncol || v.header.length != h->length || ige_view_check(&v, NULL))
		return;
	if (h->ncol && what < 2) {
		i = random_below(h->ncol);
		column(&v, i, &d, &data);
		if (d.length) {
			change((unsigned char *)data, d.length);
			le_put(p + IGE_BLOCK_BYTES + i * IGE_DIRECTORY_BYTES + 12, 4,
			       crc_bytes(0, data, d.length));
		}
	} else if (h->ncol && what == 2) {
		i = random_below(h->ncol);
		/* Everything but the checksum of the data, which stays right as long as the length
		 * does. */
		change(p + IGE_BLOCK_BYTES + i * IGE_DIRECTORY_BYTES, 12);
	} else {
		/* Behind magic and type, before the checksums; the length too. */
		change(p + 4, 52);
	}
	mend_directory(p, h->ncol);
	mend_header(p);
}

struct heard {
	uint64_t events, records, wrong;
	int rc;
};

static struct heard listen(const char *p, size_t n)
{
	struct world *w = world_new();
	struct ige_reader *r = fixture_reader(w, p, n);
	struct event_stream *s = ige_reader_stream(r);
	struct heard h = { 0 };
	struct stream_item item;
	struct err e = { 0 };

	while ((h.rc = s->next(s, &item, &e)) == 1) {
		if (item.kind == STREAM_RECORD) {
			h.records++;
			h.wrong += !record_builtin(item.record->kind);
			if (item.record->kind == RECORD_SAMPLE &&
			    REC_HAS(item.record, SAMPLE, process))
				h.wrong += item.record->u.SAMPLE.process >
					   world_count(w, WORLD_PROCESS);
		}
		for (size_t i = 0; item.kind == STREAM_EVENTS && i < item.n; i++) {
			const struct event *ev = &item.events[i];
			const struct op_def *def = world_op(w, ev->op);
			uint64_t waker;

			h.events++;
			h.wrong += ev->ctx > world_count(w, WORLD_CTX);
			h.wrong += ev->stack > world_count(w, WORLD_STACK);
			h.wrong += !def || ev->present >> def->ncols != 0;
			if (def && event_get(ev, def, COL_WAKER, &waker))
				h.wrong += waker > world_count(w, WORLD_THREAD);
		}
	}
	/* A block cannot hold more events than its limit, nor a file more than its blocks. */
	h.wrong += h.events > n * 64;
	ige_reader_free(r);
	world_free(w);
	return h;
}

int main(void)
{
	struct fixture f;
	struct buf file = { 0 }, copy = { 0 };
	size_t at[64], n = 0;
	uint64_t wrong = 0, fewer = 0, refused = 0, odd = 0;

	fixture_init(&f);
	fixture_recording(&f, &file, 200, 50);
	for (size_t i = IGE_SEGMENT_BYTES; i < file.n && n < 64; n++) {
		struct ige_header h;

		if (ige_header_unpack(&h, (unsigned char *)file.p + i, NULL))
			abort();
		at[n] = i;
		i += h.length;
	}
	is_u64(listen(file.p, file.n).events, 200, "untouched: 200 events in %zu blocks", n);
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned changes = 1 + random_below(3);
		struct heard h;

		buf_reset(&copy);
		buf_add(&copy, file.p, file.n);
		for (unsigned i = 0; i < changes; i++) {
			size_t where = at[random_below((uint32_t)n)];
			struct ige_header was;

			/* The place of a block is known from the untouched file. */
			ige_header_unpack(&was, (unsigned char *)file.p + where, NULL);
			attack((unsigned char *)copy.p + where, &was);
		}
		h = listen(copy.p, copy.n);
		if (h.wrong && !wrong)
			printf("# first wrong round: %u\n", round);
		wrong += h.wrong;
		fewer += h.events < 200;
		refused += h.rc == ERR_TOO_NEW;
		odd += h.rc != 0 && h.rc != ERR_TOO_NEW;
	}
	is_u64(wrong, 0, "%u attacks: every id of this world, every op known", ROUNDS);
	is_u64(odd, 0, "only what calls itself newer ends the reading");
	ok(fewer > ROUNDS / 20, "%llu attacks cost events, %llu claimed to be newer",
	   (unsigned long long)fewer, (unsigned long long)refused);
	buf_free(&file);
	buf_free(&copy);
	world_free(f.w);
	return tap_done();
}
