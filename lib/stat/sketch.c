/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets by the value's highest bit and the seven below it; a doubling's buckets are allocated
 * when its first value comes. Adding is a shift and an increment: no logarithm, the same on every
 * machine.
 */
#include "lib/stat/sketch.h"

#include <stdlib.h>
#include <string.h>

struct place {
	unsigned octave, sub;
};

/* Values below 128 have a bucket each; octave k >= 1 holds [2^(k+6), 2^(k+7)) in 128 steps. */
static struct place place_of(uint64_t v)
{
	unsigned top;

	if (v < SKETCH_SUB)
		return (struct place){ 0, (unsigned)v };
	top = 63 - (unsigned)__builtin_clzll(v);
	return (struct place){ top - 6, (unsigned)(v >> (top - 7)) & (SKETCH_SUB - 1) };
}

static uint64_t bucket_low(unsigned octave, unsigned sub)
{
	return octave == 0 ? sub : (uint64_t)(SKETCH_SUB + sub) << (octave - 1);
}

/* The middle of a bucket. */
static uint64_t bucket_value(unsigned octave, unsigned sub)
{
	return bucket_low(octave, sub) + (octave < 2 ? 0 : (uint64_t)1 << (octave - 2));
}

void sketch_free(struct sketch *s)
{
	for (unsigned i = 0; i < SKETCH_OCTAVES; i++)
		free(s->octave[i]);
	*s = (struct sketch){ 0 };
}

static bool octave_need(struct sketch *s, unsigned octave)
{
	if (!s->octave[octave])
		s->octave[octave] = calloc(SKETCH_SUB, sizeof(uint64_t));
	return s->octave[octave] != NULL;
}

bool sketch_add(struct sketch *s, uint64_t value)
{
	struct place p = place_of(value);

	if (!octave_need(s, p.octave))
		return false;
	s->octave[p.octave][p.sub]++;
	if (s->count == 0 || value < s->min)
		s->min = value;
	if (s->count == 0 || value > s->max)
		s->max = value;
	s->count++;
	s->sum += value;
	return true;
}

bool sketch_add_counts(struct sketch *s, const uint32_t counts[SKETCH_BUCKETS])
{
	for (unsigned i = 0; i < SKETCH_BUCKETS; i++) {
		if (!counts[i])
			continue;
		if (!octave_need(s, i / SKETCH_SUB))
			return false;
		s->octave[i / SKETCH_SUB][i % SKETCH_SUB] += counts[i];
		s->count += counts[i];
	}
	return true;
}

bool sketch_merge(struct sketch *into, const struct sketch *from)
{
	if (from->count == 0)
		return true;
	for (unsigned i = 0; i < SKETCH_OCTAVES; i++)
		if (from->octave[i] && !octave_need(into, i))
			return false;
	for (unsigned i = 0; i < SKETCH_OCTAVES; i++)
		for (unsigned k = 0; from->octave[i] && k < SKETCH_SUB; k++)
			into->octave[i][k] += from->octave[i][k];
	if (into->count == 0 || from->min < into->min)
		into->min = from->min;
	if (into->count == 0 || from->max > into->max)
		into->max = from->max;
	into->count += from->count;
	into->sum += from->sum;
	return true;
}

/* ceil(q * count), without the rounding of q deciding it: 0.99 of 100 is 99, not 100. */
static uint64_t rank_of(double q, uint64_t count)
{
	long double exact = (long double)q * (long double)count;
	uint64_t rank = (uint64_t)exact;

	if (exact - (long double)rank > 1e-9L * (1 + exact))
		rank++;
	return rank < 1 ? 1 : rank > count ? count : rank;
}

struct sketch_place sketch_locate(const struct sketch *s, double q)
{
	struct sketch_place at = { .low = s->max, .rank = 1, .n = 1 };
	uint64_t rank, before = 0;

	if (!(q > 0)) {
		at.low = s->min;
		return at;
	}
	rank = rank_of(q, s->count);
	if (rank == s->count)
		return at;
	for (unsigned i = 0; i < SKETCH_OCTAVES; i++) {
		for (unsigned k = 0; s->octave[i] && k < SKETCH_SUB; k++) {
			if (before + s->octave[i][k] >= rank) {
				at.low = bucket_low(i, k);
				at.span = i < 2 ? 0 : ((uint64_t)1 << (i - 1)) - 1;
				at.rank = rank - before;
				at.n = s->octave[i][k];
				return at;
			}
			before += s->octave[i][k];
		}
	}
	return at;
}

uint64_t sketch_quantile(const struct sketch *s, double q)
{
	struct sketch_place at;
	uint64_t v;

	if (s->count == 0)
		return 0;
	at = sketch_locate(s, q);
	v = at.span ? at.low + (at.span + 1) / 2 : at.low;
	return v < s->min ? s->min : v > s->max ? s->max : v;
}

void sketch_powers(const struct sketch *s, uint64_t counts[SKETCH_POWERS])
{
	memset(counts, 0, SKETCH_POWERS * sizeof(*counts));
	for (unsigned i = 0; i < SKETCH_OCTAVES; i++) {
		for (unsigned k = 0; s->octave[i] && k < SKETCH_SUB; k++) {
			uint64_t v = bucket_value(i, k);

			counts[v ? 64 - (unsigned)__builtin_clzll(v) : 0] += s->octave[i][k];
		}
	}
}

uint64_t sketch_between(const struct sketch *s, uint64_t from, uint64_t to)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < SKETCH_OCTAVES; i++) {
		for (unsigned k = 0; s->octave[i] && k < SKETCH_SUB; k++) {
			uint64_t v = bucket_value(i, k);

			n += v >= from && v < to ? s->octave[i][k] : 0;
		}
	}
	return n;
}
