/* SPDX-License-Identifier: Apache-2.0 */
/* Periods of sequences that are written down here, as letters: a call each. */
#include "tests/tap.h"

#include "lib/loops/call_period.h"

#define CALLS 4096

/* That text again and again, n calls in all, one of `every` of them another call (0: none). */
static size_t repeat(uint64_t *v, const char *text, size_t n, size_t every)
{
	size_t length = strlen(text);
	uint32_t x = 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		v[i] = every && (x >> 16) % every == 0 ? 'x' : (uint64_t)text[i % length];
	}
	return n;
}

static const struct row {
	const char *name, *text;
	size_t n, every;
	unsigned want;
} rows[] = {
	{ "one call", "a", 100, 0, 1 },
	{ "two calls", "ab", 100, 0, 2 },
	{ "not twice its period", "abcabc", 300, 0, 3 },
	{ "the same call several times", "aabac", 300, 0, 5 },
	{ "an inner loop", "abababababababababababcde", 2000, 0, 25 },
	{ "something else now and then", "abcdef", 1000, 37, 6 },
	{ "too much else", "abcdef", 1000, 7, 0 },
	{ "too few calls", "abc", 21, 0, 0 },
	{ "fewer than eight periods", "abcdefghijklmnopqrstuvwxyz", 200, 0, 0 },
};

static void table(void)
{
	static uint64_t v[CALLS];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = repeat(v, rows[i].text, rows[i].n, rows[i].every);

		is_u64(call_period_find(v, n), rows[i].want, "%s", rows[i].name);
	}
}

/* The older half is not compared. */
static void after_a_start(void)
{
	static uint64_t v[CALLS];
	uint32_t x = 1;

	for (size_t i = 0; i < CALLS; i++) {
		x = x * 1664525 + 1013904223;
		v[i] = i < CALLS / 2 - 100 ? x : i % 27;
	}
	is_u64(call_period_find(v, CALLS), 27, "a start without a period");
	is_u64(CALLS - call_period_reference(v, CALLS, 27), 27,
	       "its newest sequence that equals the one before");
	v[CALLS - 30] = 1;
	is_u64(CALLS - call_period_reference(v, CALLS, 27), 57,
	       "where a call differs, one before it");
}

static void random_calls(void)
{
	static uint64_t v[CALLS];
	uint32_t x = 1;
	unsigned found = 0;

	for (unsigned round = 0; round < 20; round++) {
		for (size_t i = 0; i < CALLS; i++) {
			x = x * 1664525 + 1013904223;
			v[i] = x >> 28;
		}
		found += call_period_find(v, CALLS) != 0;
	}
	is_u64(found, 0, "calls at random have no period");
}

int main(void)
{
	table();
	after_a_start();
	random_calls();
	return tap_done();
}
