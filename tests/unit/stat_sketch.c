/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles of the sketch against sorting, on data made to be hard for it.
 */
#include "lib/stat/sketch.h"

#include "lib/stat/rank.h"
#include "tests/tap.h"

#define N 20000

static uint64_t values[N];
static uint64_t state = 42;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* ceil(permille / 1000 * n)-th smallest, in integers. */
static uint64_t exact(const uint64_t *v, size_t n, unsigned permille)
{
	size_t rank = (n * permille + 999) / 1000;

	return v[(rank ? rank : 1) - 1];
}

/* The sketch says where it lies, rounds over all values say which one it is. */
static uint64_t searched(const struct sketch *s, const uint64_t *v, size_t n, double q,
			 unsigned *rounds)
{
	struct sketch_place at = sketch_locate(s, q);
	struct rank_search search;
	int rc;

	if (!rank_search_begin(&search, at.low, at.span, at.rank, at.n))
		return UINT64_MAX - 1;
	*rounds = 0;
	do {
		for (size_t i = 0; i < n; i++)
			rank_search_add(&search, v[i]);
		++*rounds;
	} while ((rc = rank_search_round(&search)) > 0);
	at.low = search.found ? search.value : UINT64_MAX - 1;
	rank_search_free(&search);
	return at.low;
}

static void against_sorting(const char *name, size_t n)
{
	static const unsigned permille[] = { 0, 1, 10, 250, 500, 900, 950, 990, 999, 1000 };
	struct sketch all = { 0 }, a = { 0 }, b = { 0 };
	uint64_t sum = 0;
	unsigned wrong = 0, differ = 0, inexact = 0, rounds = 0, most = 0;
	double worst = 0;

	for (size_t i = 0; i < n; i++) {
		sketch_add(&all, values[i]);
		sketch_add(i % 3 ? &a : &b, values[i]);
		sum += values[i];
	}
	sketch_merge(&a, &b);
	qsort(values, n, sizeof(values[0]), by_value);
	for (unsigned i = 0; i < sizeof(permille) / sizeof(permille[0]); i++) {
		uint64_t want = exact(values, n, permille[i]),
			 got = sketch_quantile(&all, permille[i] / 1000.0);
		double off = want ? ((double)got - (double)want) / (double)want : (double)got;

		off = off < 0 ? -off : off;
		worst = off > worst ? off : worst;
		if (off > 1 / 256.0 || (want < 256 && got != want))
			wrong++;
		differ += sketch_quantile(&a, permille[i] / 1000.0) != got;
		inexact += searched(&all, values, n, permille[i] / 1000.0, &rounds) != want;
		most = rounds > most ? rounds : most;
	}
	printf("# %s: worst error %.4f %%\n", name, worst * 100);
	is_u64(wrong, 0, "%s: within 1/256 of the exact quantile", name);
	is_u64(inexact, 0, "%s: searching finds the value itself", name);
	ok(most <= 5, "%s: in few rounds", name);
	is_u64(differ, 0, "%s: parts merge into the same answers", name);
	is_u64(all.sum, sum, "%s: sum", name);
	is_u64(all.min, values[0], "%s: smallest", name);
	is_u64(all.max, values[n - 1], "%s: largest", name);
	is_u64(all.count, n, "%s: count", name);
	is_u64(sketch_quantile(&all, 1), values[n - 1], "%s: the last quantile is the largest",
	       name);
	is_u64(sketch_between(&all, 0, UINT64_MAX), n, "%s: every value is in a bucket", name);
	sketch_free(&all);
	sketch_free(&a);
	sketch_free(&b);
}

int main(void)
{
	struct sketch s = { 0 }, none = { 0 };

	struct rank_search other;

	is_u64(sketch_quantile(&s, 0.5), 0, "nothing has no quantile");
	ok(sketch_merge(&s, &none), "nothing merges into nothing");
	for (unsigned i = 1; i <= 100; i++)
		sketch_add(&s, i);
	is_u64(sketch_quantile(&s, 0.50), 50, "p50 of 1..100");
	is_u64(sketch_quantile(&s, 0.95), 95, "p95 of 1..100");
	is_u64(sketch_quantile(&s, 0.99), 99, "p99 of 1..100");
	sketch_free(&s);
	ok(rank_search_begin(&other, 1000, 999, 3, 5), "a search among five values");
	for (unsigned i = 0; i < 4; i++)
		rank_search_add(&other, 1000 + i);
	rank_search_add(&other, 2000);
	ok(rank_search_round(&other) < 0 && !other.found, "fails when it meets four");
	rank_search_free(&other);
	ok(rank_search_begin(&other, 1 << 20, 1 << 18, 9000, 9001), "a search among many");
	for (unsigned i = 0; i < 9002; i++)
		rank_search_add(&other, (1 << 20) + i);
	ok(rank_search_round(&other) < 0 && !other.found, "fails when it meets one more");
	rank_search_free(&other);

	for (size_t i = 0; i < N; i++)
		values[i] = rnd();
	against_sorting("uniform over 64 bits", N);
	for (size_t i = 0; i < N; i++)
		values[i] = rnd() >> (rnd() % 64);
	against_sorting("uniform over magnitudes", N);
	for (size_t i = 0; i < N; i++)
		values[i] = ((uint64_t)1 << (rnd() % 64)) - (rnd() & 1);
	against_sorting("powers of two and the values before them", N);
	for (size_t i = 0; i < N; i++)
		values[i] = i < N * 99 / 100 ? 5000 + rnd() % 7 : 30000000000 + rnd() % 5;
	against_sorting("calls of microseconds and one in a hundred of half a minute", N);
	for (size_t i = 0; i < N; i++)
		values[i] = rnd() % 300;
	against_sorting("small values", N);
	for (size_t i = 0; i < N; i++)
		values[i] = 1234567891;
	against_sorting("one value", N);
	for (size_t i = 0; i < N; i++)
		values[i] = N - i;
	against_sorting("falling", N);
	values[0] = UINT64_MAX;
	values[1] = 0;
	against_sorting("two values", 2);
	values[0] = 77777;
	against_sorting("a single one", 1);
	return tap_done();
}
