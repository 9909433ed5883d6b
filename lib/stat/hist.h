/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations by size: 16 cells per power of two, count and sum per cell. A quantile read from it is
 * the mean of its cell, so within a few per cent of a true value; sums are exact. A struct hist is
 * a fixed block of memory, for adding up; those that are kept by the thousand, one for each class
 * or site, share blocks: cells of one power of two stand side by side, so that what most of them
 * never use is no page of memory, and what all of them use is few.
 */
#ifndef INGERO_STAT_HIST_H
#define INGERO_STAT_HIST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/base/vec.h"

#define HIST_OCTAVES 41 /* the first holds what is below 16 */
#define HIST_CELLS   (16 * HIST_OCTAVES)

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

/* One of many. What its cells tell, how many values there are and their sum, it does not keep. */
struct hist_kept {
	uint64_t max;
	struct hist_cell *v; /* the first cell; see hist_kept_cell */
};

#define HISTS_BLOCK 64

/* Zero-initialised is empty. */
struct hists {
	VEC(struct hists_block *) blocks;
	VEC(struct hist_kept *) unused; /* all empty; room for every one there is */
};

/* An empty one. NULL: out of memory. */
struct hist_kept *hists_new(struct hists *hs);
/* It is not looked at any more. NULL: nothing. */
void hists_give_up(struct hists *hs, struct hist_kept *h);
void hists_free(struct hists *hs);

static inline struct hist_cell *hist_kept_cell(const struct hist_kept *h, unsigned cell)
{
	return h->v + (cell >> 4) * (16 * HISTS_BLOCK) + (cell & 15);
}

/* Where behind the first cell that of a value stands, in every one that is kept: worked out once
 * for a value that is added to several. */
static inline uint32_t hist_place(uint64_t v)
{
	uint64_t most = (UINT64_C(1) << (HIST_OCTAVES + 3)) - 1;
	unsigned shift, cell;

	v = v < most ? v : most;
	shift = (63 ^ (unsigned)__builtin_clzll(v | 16)) - 4; /* 63 - clz, in one instruction */
	cell = (unsigned)(v >> shift); /* 16 to 31, but in the first octave */
	return shift * (16 * HISTS_BLOCK) + (cell >> 4) * (16 * HISTS_BLOCK - 16) + cell;
}

/* place: hist_place(v). */
static inline void hist_cell_add(struct hist_cell *first, uint64_t v, uint32_t place)
{
	first[place].count++;
	first[place].sum += v;
}

static inline void hist_kept_add_at(struct hist_kept *h, uint64_t v, uint32_t place)
{
	if (v > h->max)
		h->max = v;
	hist_cell_add(h->v, v, place);
}

static inline void hist_kept_add(struct hist_kept *h, uint64_t v)
{
	hist_kept_add_at(h, v, hist_place(v));
}

/* A value of that place is added soon. Of a function that does nothing but fetch compilers think
 * that it does nothing, and leave it out unless it must be inlined. */
ALWAYS_INLINE void hist_fetch(const struct hist_cell *first, uint32_t place)
{
	__builtin_prefetch(first + place);
}

void hist_merge(struct hist *into, const struct hist_kept *from);

/* The q-quantile (0..1); 0 when empty. */
uint64_t hist_quantile(const struct hist *h, double q);

/* What lies above expected: the sum over values of max(0, value - expected), cells below it
 * skipped. */
uint64_t hist_above(const struct hist *h, uint64_t expected);

#endif
