/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles of many values in little memory: counts per bucket, 128 buckets per doubling, so that a
 * quantile is off by at most 1/256 of its value (0.4 %); below 256 values are exact. Count, sum,
 * smallest and largest are exact. Sketches of parts merge into the sketch of the whole, in any
 * order, without further error. Memory is bounded by the spread of the values, not by their number.
 */
#ifndef INGERO_STAT_SKETCH_H
#define INGERO_STAT_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

#define SKETCH_SUB     128
#define SKETCH_OCTAVES 58 /* the first holds 0..127, the last the values from 2^63 */

/* Zero-initialised is empty. */
struct sketch {
	uint64_t count, sum, min,
		max; /* min and max are valid when count; sum wraps after 584 years of ns */
	uint64_t *octave[SKETCH_OCTAVES]; /* SKETCH_SUB counts, allocated when first used */
};

void sketch_free(struct sketch *s);

/* False: out of memory, s unchanged. */
bool sketch_add(struct sketch *s, uint64_t value);
bool sketch_merge(struct sketch *into, const struct sketch *from);

/* A bucket's number, from 0: what counts kept elsewhere are kept by. */
#define SKETCH_BUCKETS (SKETCH_SUB * SKETCH_OCTAVES)
static inline unsigned sketch_bucket(uint64_t v)
{
	/* Below 256 there is one per value; from then on seven bits below the highest one tell. */
	unsigned shift = 56 - (unsigned)__builtin_clzll(v | SKETCH_SUB);

	return shift * SKETCH_SUB + (unsigned)(v >> shift);
}
/* Take in counts by bucket into an empty sketch whose min, max and sum are set. */
bool sketch_add_counts(struct sketch *s, const uint32_t counts[SKETCH_BUCKETS]);

/* The smallest value that at least the fraction q of all values do not exceed (nearest rank); 0
 * when empty. q 0 is the smallest, 1 the largest value. */
uint64_t sketch_quantile(const struct sketch *s, double q);

/* Where that value lies: it is of rank `rank` (1-based) among the n values in [low, low + span].
 * Span 0: low is the value. The sketch must not be empty. */
struct sketch_place {
	uint64_t low, span, rank, n;
};
struct sketch_place sketch_locate(const struct sketch *s, double q);

/* How many values lie in [from, to), by bucket: the shape of the distribution. */
uint64_t sketch_between(const struct sketch *s, uint64_t from, uint64_t to);
/* All at once, by powers of two: counts[0] of value 0, counts[k] of values from 2^(k-1) to below
 * 2^k. */
#define SKETCH_POWERS 65
void sketch_powers(const struct sketch *s, uint64_t counts[SKETCH_POWERS]);

#endif
