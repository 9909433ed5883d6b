/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of segments: equal ones have equal numbers, others do not, calls are found by the site
 * that a stream names, and where there are too many, those that are new lose their line alone.
 */
#include "tests/tap.h"

#include <stdlib.h>

#include "lib/path/segment_keys.h"

static void numbers(void)
{
	static const struct segment all[] = {
		{ .state = SEGMENT_OWN },
		{ .state = SEGMENT_OWN, .line = 1 },
		{ .state = SEGMENT_OWN, .line = 1, .op = 2 },
		{ .state = SEGMENT_OWN, .line = 1, .flags = SEGMENT_SAMPLED },
		{ .state = SEGMENT_CALL, .line = 1, .op = 2 },
		{ .state = SEGMENT_WAITING, .who = 7, .object = 1 },
		{ .state = SEGMENT_WAITING, .who = 7, .object = 2 },
		{ .state = SEGMENT_RUNNABLE, .who = 7 },
	};
	const size_t n = sizeof(all) / sizeof(all[0]);
	uint32_t key[2 * sizeof(all) / sizeof(all[0])];
	struct segment_keys k = { 0 };
	unsigned same = 0, again = 0, wrong = 0;

	for (size_t i = 0; i < 2 * n; i++)
		key[i] = segment_key(&k, i < n ? 1 : 2, &all[i % n]);
	for (size_t i = 0; i < 2 * n; i++) {
		struct segment later = all[i % n];

		later.end_ns = 99;
		again += segment_key(&k, i < n ? 1 : 2, &later) == key[i];
		wrong += !segment_alike(&segment_key_get(&k, key[i])->s, &later) ||
			 segment_key_get(&k, key[i])->thread != (i < n ? 1 : 2);
		for (size_t j = 0; j < i; j++)
			same += key[i] == key[j];
	}
	is_u64(same, 0, "different segments, or of different threads, have different numbers");
	is_u64(again, 2 * n, "equal ones have the same, whenever they end");
	is_u64(wrong, 0, "which say what they are");
	ok((key[5] & SEGMENT_KEY_KIND) == SEGMENT_KEY_WAITING &&
		   (key[7] & SEGMENT_KEY_KIND) == SEGMENT_KEY_RUNNABLE &&
		   (key[4] & SEGMENT_KEY_KIND) == 0,
	   "and whether they need another thread");
	is_u64(segment_key_bare(&k, key[2]), key[0], "without line and op");
	segment_keys_free(&k);
}

/* Streams may give one site to calls of several threads and lines, or none. */
static void sites(void)
{
	struct segment_keys k = { 0 };
	unsigned wrong = 0;

	for (uint32_t i = 0; i < 30000; i++) {
		struct segment s = { .state = SEGMENT_CALL,
				     .line = i % 17,
				     .op = (uint16_t)(i % 3 + 1) },
			       own = { .state = SEGMENT_OWN, .line = s.line, .op = s.op };
		const struct segment_call *c = segment_call(&k, i % 5, &s, i % 2 ? i % 4000 : 0);

		wrong += !c || c->call != segment_key(&k, i % 5, &s) ||
			 c->after != segment_key(&k, i % 5, &own);
	}
	is_u64(wrong, 0, "a call and what is behind it, whatever the site says");
	segment_keys_free(&k);
}

/* Threads that execute the same program, whose calls have one place. */
static void shared_place(void)
{
	struct segment_keys k = { 0 };
	const struct segment s = { .state = SEGMENT_CALL, .line = 3, .op = 1 },
			     other = { .state = SEGMENT_CALL, .line = 4, .op = 1 };
	const struct segment_call *c = segment_call(&k, 1, &s, 9);
	uint32_t key = c->call, same = segment_call(&k, 1, &other, 9)->call;

	ok(key != same && c->call == key && segment_call(&k, 1, &s, 9) == c,
	   "two calls of one place are both found without being learned again");
	segment_keys_free(&k);
}

static void too_many(void)
{
	struct segment_keys k = { 0 };
	struct segment s = { .state = SEGMENT_OWN, .flags = SEGMENT_SAMPLED, .op = 3 };
	uint32_t first = 0, key = 0;

	for (uint32_t i = 1; i <= SEGMENT_KEYS_MAX + 1000; i++) {
		s.line = i;
		key = segment_key(&k, 1, &s);
		if (i == 1)
			first = key;
		if (!key)
			abort();
	}
	ok(k.v.n <= SEGMENT_KEYS_MAX + 2, "%zu numbers", k.v.n);
	is_u64(segment_key_get(&k, key)->s.line, 0, "one too many has no line");
	is_u64(segment_key_get(&k, key)->s.op, 3, "but all else");
	s.line = 1;
	is_u64(segment_key(&k, 1, &s), first, "those before have theirs");
	segment_keys_free(&k);
}

static bool is_of_second(void *ctx, uint32_t key)
{
	return segment_key_get(ctx, key)->thread == 2;
}

/* Threads come and go; the first one stays. */
static void given_back(void)
{
	struct segment_keys k = { 0 };
	struct segment s = { .state = SEGMENT_OWN };
	uint32_t mine[100], wrong = 0;

	for (unsigned round = 0; round < 50; round++) {
		for (uint32_t i = 0; i < 100; i++) {
			uint32_t key;

			s.line = i + 1;
			key = segment_key(&k, 1, &s);
			wrong += round && key != mine[i];
			mine[i] = key;
			s.line = round * 100 + i + 1;
			key = segment_key(&k, 2, &s);
			wrong += !key || segment_key_get(&k, key)->thread != 2 ||
				 segment_key_get(&k, key)->s.line != s.line ||
				 segment_key(&k, 2, &s) != key || segment_key_bare(&k, key) == key;
		}
		if (!segment_keys_prune(&k, is_of_second, &k))
			abort();
		wrong += segment_keys_count(&k) != 101; /* and the one that is not used */
	}
	is_u64(wrong, 0, "numbers of one thread stay while those of another are given back");
	ok(k.v.n < 250, "which are used again: %zu for 5,000", k.v.n);
	segment_keys_free(&k);
}

int main(void)
{
	given_back();
	numbers();
	sites();
	shared_place();
	too_many();
	return tap_done();
}
