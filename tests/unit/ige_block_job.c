/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers handed over are what they were, in four bytes or eight, by either way a processor has;
 * and the block made of a bale is the one that would have been made of its rows.
 */
#include "lib/ige/block_job.h"

#include <string.h>

#include "lib/base/cpu.h"
#include "lib/base/nt_copy.h"
#include "lib/base/hash.h"
#include "tests/tap.h"
#include "tests/unit/fixture.h"

#define NUMBERS 300

static void numbers(void)
{
	static unsigned char bytes[NT_COPY_BYTES(NUMBERS, 8) + 1] __attribute__((aligned(64)));
	uint64_t from[NUMBERS], to[NUMBERS];
	unsigned wrong = 0, beyond = 0;

	for (size_t n = 0; n <= NUMBERS; n++)
		for (unsigned width = 4; width <= 8; width += 4) {
			uint64_t base = n % 3 ? hash_u64(n) >> 8 : 0;
			size_t room = NT_COPY_BYTES(n, width);

			for (size_t i = 0; i < n; i++)
				from[i] = base +
					  (hash_u64(i ^ n << 20) >> (width == 4 ? 32 : 1 + i % 40));
			bytes[room] = 0xa5;
			nt_copy_put(bytes, from, n, base, width);
			nt_copy_get(to, bytes, n, width);
			for (size_t i = 0; i < n; i++)
				wrong += to[i] != from[i] - base;
			beyond += bytes[room] != 0xa5;
			nt_copy_put_bytes(bytes, (const uint8_t *)from, n);
			wrong += memcmp(bytes, from, n) != 0;
			beyond += bytes[room] != 0xa5;
		}
	is_u64(wrong, 0, "numbers that changed%s", cpu_plain_only ? ", the plain way" : "");
	is_u64(beyond, 0, "numbers put beyond their room");
}

/* ---- blocks ---- */

struct rows {
	struct ige_dict_writer dict;
	struct ige_rows rows;
	struct ige_builder builder;
};

static void fill(struct rows *r, const struct fixture *f, uint32_t first, uint32_t n, uint64_t dur,
		 uint64_t gap)
{
	for (uint32_t i = first; i < first + n; i++) {
		struct event ev = fixture_event(f, i);

		ev.end_ns += (int64_t)(i * gap);
		ev.dur_ns += i == first + n / 2 ? dur : 0;
		if (!ige_rows_add(&r->rows, &ev, ige_dict_op(&r->dict, ev.op)))
			abort();
	}
}

static struct ige_header header(void)
{
	return (struct ige_header){ .type = IGE_EVENTS, .seq = 5, .lost = 7, .start_floor_us = 9 };
}

static void blocks(void)
{
	static const struct {
		uint32_t n;
		uint64_t dur, gap;
		const char *name;
	} cases[] = {
		{ 1, 0, 0, "one row" },
		{ 9, 0, 0, "few of each column" },
		{ 8192, 0, 0, "a block" },
		{ 8191, UINT64_C(5000000000), 0, "a duration of more than four bytes" },
		{ 5000, UINT64_C(1) << 60, 0, "one of a lifetime" },
		{ 6000, 0, 2000000, "ends of more than four bytes" },
		{ 100, 0, 0, "less than before" },
		{ 65536, 3, 1, "as many as a block may have" },
	};
	struct fixture f;
	struct rows alone = { 0 }, baled = { 0 };
	struct ige_block_job bale = { 0 };
	struct err e = { 0 };

	fixture_init(&f);
	ige_dict_writer_init(&alone.dict, f.w);
	ige_dict_writer_init(&baled.dict, f.w);
	ige_rows_init(&alone.rows, &alone.dict);
	ige_rows_init(&baled.rows, &baled.dict);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ige_header h = header(), g = header();
		struct buf a = { 0 }, b = { 0 };
		size_t bound;

		fill(&alone, &f, i * 1000, cases[i].n, cases[i].dur, cases[i].gap);
		fill(&baled, &f, i * 1000, cases[i].n, cases[i].dur, cases[i].gap);
		is_int(ige_rows_seal(&alone.rows, &alone.builder, NULL, &h, &a, &e), 0, "%s",
		       cases[i].name);
		ok(ige_block_job_bind(&bale, &baled.rows, &g), "bound");
		bound = ige_block_job_bound(&bale);
		is_u64(baled.rows.n + baled.rows.bytes, 0, "nothing is left of the rows");
		/* Their memory takes others meanwhile. */
		fill(&baled, &f, 77, 500, 1, 1);
		is_int(ige_block_job_seal(&bale, &baled.builder, &g, &b, &e), 0, "sealed");
		ok(a.n == b.n && !memcmp(a.p, b.p, a.n), "the same block");
		ok(b.n <= bound, "of %zu bytes, at most %zu", b.n, bound);
		ige_rows_clear(&baled.rows);
		fill(&alone, &f, 77, 500, 1, 1);
		ige_rows_clear(&alone.rows);
		buf_free(&a);
		buf_free(&b);
	}
	ige_block_job_free(&bale);
	ige_rows_free(&alone.rows);
	ige_rows_free(&baled.rows);
	ige_builder_free(&alone.builder);
	ige_builder_free(&baled.builder);
	ige_dict_writer_free(&alone.dict);
	ige_dict_writer_free(&baled.dict);
	world_free(f.w);
}

int main(void)
{
	for (int plain = 0; plain < 2; plain++) {
		cpu_plain_only = plain;
		numbers();
		blocks();
	}
	return tap_done();
}
