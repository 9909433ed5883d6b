/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations by size: 16 cells per power of two, count and sum per cell. A quantile read from it is
 * the mean of its cell, so within a few per cent of a true value; sums are exact. A fixed block of memory.
 */
#ifndef INGERO_CAUSE_HIST_H
#define INGERO_CAUSE_HIST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/rare.h"

#define HIST_CELLS (16 + 16 * 40)

struct hist {
	uint64_t n, sum, max;
	struct hist_cell {
		uint64_t count, sum;
	} v[HIST_CELLS] __attribute__((aligned(
		16))); /* count and sum beside each other: an addition touches one line of memory */
};

static inline unsigned hist_cell(uint64_t v)
{
	unsigned octave, cell;

	if (v < 16)
		return (unsigned)v;
	octave = 63 - (unsigned)__builtin_clzll(v);
	cell = 16 + (octave - 4) * 16 + (unsigned)(v >> (octave - 4) & 15);
	return cell < HIST_CELLS ? cell : HIST_CELLS - 1;
}

static inline void hist_add(struct hist *h, uint64_t v)
{
	unsigned cell = hist_cell(v);

	h->n++;
	h->sum += v;
	if (v > h->max)
		h->max = v;
	h->v[cell].count++;
	h->v[cell].sum += v;
}

/* It is added to soon. Of a function that does nothing but fetch compilers think that it does nothing, and leave it out unless
 * it must be inlined. */
USUAL void hist_fetch(const struct hist *h, uint64_t v)
{
	__builtin_prefetch(h);
	__builtin_prefetch((const char *)(uintptr_t)((uintptr_t)h + offsetof(struct hist, v) +
						     hist_cell(v) * sizeof(struct hist_cell)));
}

static inline void hist_clear(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_merge(struct hist *into, const struct hist *from);

/* The q-quantile (0..1); 0 when empty. */
uint64_t hist_quantile(const struct hist *h, double q);

/* What lies above expected: the sum over values of max(0, value - expected), cells below it skipped. */
uint64_t hist_above(const struct hist *h, uint64_t expected);

#endif
