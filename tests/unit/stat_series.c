/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values over time: whatever the order and the spread, what is in all points is what was added, and
 * every value is in the point that covers its time.
 */
#include "lib/stat/series.h"

#include <math.h>

#include "tests/tap.h"

#define SECOND 1000000000ll

static uint64_t state = 7;

static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 11) % below;
}

static uint64_t all(const struct series *s, double *sum)
{
	uint64_t n = 0;

	*sum = 0;
	for (unsigned i = 0; i < s->n; i++) {
		n += s->v[i].n;
		*sum += s->v[i].sum;
	}
	return n;
}

static void one_point(void)
{
	struct series s = { .span_ns = SECOND };
	double v[4], top, sum;

	series_add(&s, 5 * SECOND + 1, 1, 10);
	series_add(&s, 5 * SECOND + 2, 1, 20);
	is_u64(s.n, 1, "two values in one span: one point");
	is_u64(all(&s, &sum), 2, "of two values");
	is_u64(series_means(&s, v, 4, &top), 1, "one mean");
	is_near(v[0], 15, 1e-9, "their mean");
	is_near(top, 15, 1e-9, "which is the largest");
}

static void both_ways(void)
{
	struct series s = { .span_ns = SECOND };
	double v[SERIES_POINTS], top, sum;

	series_add(&s, 10 * SECOND, 1, 1);
	series_add(&s, 8 * SECOND, 2, 2);
	series_add(&s, 13 * SECOND + 999, 3, 3);
	is_i64(s.first, 8, "earlier values come before");
	is_u64(s.n, 6, "and later ones behind, with what lies between");
	is_u64(s.v[0].n, 2, "the earlier ones");
	is_u64(s.v[2].n, 1, "the first one added, moved");
	is_u64(s.v[5].n, 3, "the later ones");
	is_u64(s.v[1].n + s.v[3].n + s.v[4].n, 0, "nothing between");
	is_u64(all(&s, &sum), 6, "all are there");
	is_u64(series_rates(&s, 8 * SECOND, 14 * SECOND, v, SERIES_POINTS, &top), 6, "six rates");
	is_near(v[0], 2, 1e-9, "two in the first second");
	is_near(v[1], 0, 1e-9, "none in the next");
	is_near(top, 3, 1e-9, "three at most");
	is_u64(series_rates(&s, 8 * SECOND, 13 * SECOND + 1000, v, SERIES_POINTS, &top), 5,
	       "a last second of which hardly anything was recorded is no rate");
	is_u64(series_rates(&s, 8 * SECOND + SECOND / 2, 14 * SECOND, v, SERIES_POINTS, &top), 6,
	       "half a second is one");
	is_near(v[0], 4, 1e-9, "two in half a second are four per second");
	series_means(&s, v, SERIES_POINTS, &top);
	is_near(v[1], v[0], 1e-9, "a second without a value has the mean of the one before");
}

static void negative(void)
{
	struct series s = { .span_ns = SECOND };
	double sum;

	series_add(&s, -1, 1, 0);
	series_add(&s, 0, 1, 0);
	is_i64(s.first, -1, "just before 0 is the span before");
	is_u64(s.v[0].n, 1, "with one");
	is_u64(s.v[1].n, 1, "and one behind it");
	is_u64(all(&s, &sum), 2, "two in all");
}

/* Against points counted directly from the same values. */
static void drawn(uint64_t spread, const char *name)
{
	struct series s = { .span_ns = 1000 };
	int64_t times[2000];
	double sum, true_sum = 0;
	unsigned wrong = 0;

	for (unsigned i = 0; i < 2000; i++) {
		times[i] = (int64_t)draw(spread) - (int64_t)(spread / 3);
		series_add(&s, times[i], 1, (double)(i % 7));
		true_sum += i % 7;
	}
	is_u64(all(&s, &sum), 2000, "%s: all are there", name);
	is_near(sum, true_sum, 1e-6, "%s: with their sum", name);
	ok(s.n <= SERIES_POINTS, "%s: in no more points than there are", name);
	for (unsigned p = 0; p < s.n; p++) {
		int64_t from = (s.first + p) * s.span_ns;
		uint64_t n = 0;

		for (unsigned i = 0; i < 2000; i++)
			n += times[i] >= from && times[i] < from + s.span_ns;
		wrong += n != s.v[p].n;
	}
	is_u64(wrong, 0, "%s: each in the point of its time", name);
}

static void absurd(void)
{
	struct series s = { .span_ns = 1 };
	double v[8], top, sum;

	series_add(&s, INT64_MAX, 1, 1);
	series_add(&s, INT64_MIN, 1, 1);
	series_add(&s, 0, 1, 1);
	is_u64(all(&s, &sum), 3, "times that no clock shows are counted all the same");
	ok(series_rates(&s, INT64_MIN / 4, INT64_MAX / 4, v, 8, &top) <= 8, "and drawn");
	ok(series_means(&s, v, 8, &top) <= 8, "both ways");
}

int main(void)
{
	one_point();
	both_ways();
	negative();
	drawn(50, "within a span");
	drawn(1000 * SERIES_POINTS, "as wide as there are points");
	drawn(1000 * SERIES_POINTS * 50, "much wider");
	drawn(1ull << 60, "as wide as a clock");
	absurd();
	return tap_done();
}
