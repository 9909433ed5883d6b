/* SPDX-License-Identifier: Apache-2.0 */
/* Own code that no sample met, over the lines at which samples met the rest. */
#include <math.h>

#include "tests/tap.h"

#include "lib/tracks/own_code.h"

#define MS 1000000ull

static struct track_parts parts;

static void add(enum path_class class, uint32_t before, uint32_t line, uint64_t pieces, uint64_t ns)
{
	struct track_part p = { .class = class,
				.leaf = 1,
				.before = before,
				.line = line ? line : before,
				.stack = line ? line : before,
				.sampled = line != 0,
				.pieces = pieces,
				.ns = ns };

	if (!vec_push(&parts.v, p))
		abort();
}

/* All of that line, or (sampled) without a sample. */
static uint64_t ns_of(uint32_t line, bool sampled)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < parts.v.n; i++)
		if (parts.v.v[i].line == line && parts.v.v[i].sampled == sampled)
			ns += parts.v.v[i].ns;
	return ns;
}

static uint64_t sum(void)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < parts.v.n; i++)
		ns += parts.v.v[i].ns;
	return ns;
}

/* Own code behind call 5: 1 s without a sample; 100 pieces of 1 ms and 10 of 5 ms with one. */
static void place_at(uint32_t hz)
{
	parts.v.n = 0;
	add(PATH_OWN, 5, 0, 600, 1000 * MS);
	add(PATH_OWN, 5, 50, 100, 100 * MS);
	add(PATH_OWN, 5, 51, 10, 50 * MS);
	ok(own_code_place(&parts, 1, hz), "placed at %u Hz", hz);
}

/* How far samples are apart decides what they miss. */
static void rates(void)
{
	/* 52.6 ms apart: 100 x 51.6 and 10 x 47.6 ms, 91.6 and 8.4 %. */
	place_at(19);
	is_near((double)ns_of(51, true) - 50.0 * (double)MS, 84.4 * (double)MS, (double)MS,
		"19 Hz: what takes 5 ms was missed often");
	/* 10.1 ms: 100 x 9.1 and 10 x 5.1 ms. */
	place_at(99);
	is_near((double)ns_of(51, true) - 50.0 * (double)MS, 53.1 * (double)MS, (double)MS,
		"99 Hz: less often");
	/* 2 ms. */
	place_at(499);
	is_u64(ns_of(51, true), 50 * MS, "499 Hz: never");
	is_u64(ns_of(50, true), 1100 * MS, "499 Hz: all that was missed takes 1 ms");
	/* 0.5 ms: a piece of 1 ms is always met. */
	place_at(2000);
	is_u64(ns_of(5, false), 1000 * MS, "2000 Hz: what is met each time was not missed");
}

/* What a sampled line called is its own, not what the call before it was in. */
static void place_inner(void)
{
	size_t wrong = 0;

	parts.v.n = 0;
	add(PATH_OWN, 5, 0, 600, 1000 * MS);
	parts.v.v[0].inner = 7;
	add(PATH_OWN, 5, 50, 40, 40 * MS);
	add(PATH_OWN, 5, 51, 20, 60 * MS);
	parts.v.v[2].inner = 8;
	ok(own_code_place(&parts, 1, 99), "placed");
	for (size_t i = 0; i < parts.v.n; i++)
		wrong += parts.v.v[i].inner != (parts.v.v[i].line == 51 ? 8 : 0);
	is_u64(wrong, 0, "each line is in what its samples were in");
}

/* One anchor waits at 300 lines for a thread whose own code samples met at 200 lines. */
static void place_many(void)
{
	uint64_t all, kept = 0;
	size_t off = 0;

	parts.v.n = 0;
	for (uint32_t i = 0; i < 300; i++) {
		add(PATH_OWN, 5, 0, 20, (20 + i % 7) * MS);
		parts.v.v[parts.v.n - 1].stack = 1000 + i;
	}
	for (uint32_t i = 0; i < 200; i++)
		add(PATH_OWN, 5, 2000 + i, 10, 10 * MS);
	all = sum();
	ok(own_code_place(&parts, 1, 99), "placed");
	is_u64(sum(), all, "to the nanosecond it is what it was");
	ok(parts.v.n <= 700, "%zu parts, not one for each pair", parts.v.n);
	for (uint32_t i = 0; i < 300; i++) {
		uint64_t ns = 0;

		for (size_t k = 0; k < parts.v.n; k++)
			ns += parts.v.v[k].stack == 1000 + i ? parts.v.v[k].ns : 0;
		kept += ns == (20 + i % 7) * MS;
	}
	is_u64(kept, 300, "each line of the anchor has what it had");
	for (uint32_t i = 0; i < 200; i++) {
		double share = (double)(all - 2000 * MS) / 200;

		off += fabs((double)ns_of(2000 + i, true) - 10.0 * (double)MS - share) > 1000;
	}
	is_u64(off, 0, "each line of the thread has its share");
}

/* Another thread had the anchor's CPU, 40 times: behind that call, no more is known. */
static void add_taken(uint32_t before, uint64_t ns)
{
	add(PATH_TAKEN, before, 0, 40, ns);
	parts.v.v[parts.v.n - 1].culprit = 9;
	parts.v.v[parts.v.n - 1].waits = 40;
	parts.v.v[parts.v.n - 1].unplaced = true;
}

/* A thread loses its CPU where it uses it, which is seldom right behind the call before. */
static void place_taken(void)
{
	uint64_t all, waits = 0, unplaced = 0;

	parts.v.n = 0;
	add(PATH_OWN, 5, 0, 100, 1 * MS);
	add(PATH_OWN, 5, 50, 20, 60 * MS);
	add(PATH_OWN, 5, 51, 4, 20 * MS);
	add(PATH_OWN, 6, 0, 100, 100 * MS);
	add_taken(5, 810 * MS);
	add_taken(6, 30 * MS);
	add_taken(7, 20 * MS);
	add(PATH_TAKEN, 0, 5, 10, 7 * MS);
	all = sum();
	ok(own_code_place(&parts, 1, 99), "placed");
	is_u64(sum(), all, "to the nanosecond it is what it was");
	is_near((double)ns_of(50, false), 608 * (double)MS, 2 * (double)MS,
		"what others took behind a call is where the thread computed behind it");
	is_near((double)ns_of(51, false), 202 * (double)MS, 2 * (double)MS, "line by line");
	is_u64(ns_of(5, false), 0, "and not at the call itself");
	is_u64(ns_of(6, false), 130 * MS, "where own code has no other place, it has none either");
	is_u64(ns_of(7, false), 20 * MS, "nor where there is no own code");
	is_u64(ns_of(5, true), 7 * MS, "what has a place stays there");
	for (size_t i = 0; i < parts.v.n; i++) {
		waits += parts.v.v[i].waits;
		unplaced += parts.v.v[i].unplaced ? parts.v.v[i].ns : 0;
	}
	is_u64(waits, 120, "as often as it was");
	is_u64(unplaced, 20 * MS, "all of it has a place but what has no own code");
}

int main(void)
{
	uint64_t all;

	/* Behind call 5: 1 s without a sample; lines of 1 ms, of 3 ms and of 30 ms. */
	add(PATH_OWN, 5, 0, 600, 1000 * MS + 1);
	add(PATH_OWN, 5, 50, 40, 40 * MS);
	add(PATH_OWN, 5, 51, 20, 60 * MS);
	add(PATH_OWN, 5, 52, 20, 600 * MS);
	/* Behind call 6 there are too few samples; what is no own code stays. */
	add(PATH_OWN, 6, 0, 100, 70 * MS);
	add(PATH_OWN, 6, 60, 7, 7 * MS);
	add(PATH_CALL, 5, 0, 10, 11 * MS);
	all = sum();
	ok(own_code_place(&parts, 1, 0), "placed");
	is_u64(sum(), all, "to the nanosecond it is what it was");
	is_u64(ns_of(5, false), 11 * MS,
	       "nothing of call 5 is without a place but the call itself");
	/* 40 x 9.1 and 20 x 7.1 ms: 72 and 28 %. */
	is_near((double)(ns_of(50, true) - 40 * MS), 719 * (double)MS, 2 * (double)MS,
		"most is of the line that is short and often met");
	is_near((double)(ns_of(51, true) - 60 * MS), 281 * (double)MS, 2 * (double)MS,
		"less of one that is met as often as it is long");
	is_u64(ns_of(52, true), 600 * MS, "nothing of one that a sample meets each time");
	is_u64(ns_of(6, false), 70 * MS, "seven samples place nothing");
	rates();
	place_inner();
	place_many();
	place_taken();
	vec_free(&parts.v);
	return tap_done();
}
