/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping and reading histograms of durations.
 */
#include "lib/stat/hist.h"

#include <stdlib.h>

#include "lib/base/oom_flag.h"

struct hists_block {
	struct hist_kept h[HISTS_BLOCK];
	struct hist_cell v[HIST_OCTAVES][HISTS_BLOCK][16];
};

static bool block_new(struct hists *hs)
{
	struct hists_block *b = NULL;

	if (!vec_reserve(&hs->blocks, 1) ||
	    !vec_reserve(&hs->unused, (hs->blocks.n + 1) * HISTS_BLOCK - hs->unused.n))
		return false;
	b = calloc(1, sizeof(*b));
	if (!b) {
		oom_flag_set();
		return false;
	}
	hs->blocks.v[hs->blocks.n++] = b;
	for (unsigned i = HISTS_BLOCK; i-- > 0;) {
		b->h[i].v = b->v[0][i];
		hs->unused.v[hs->unused.n++] = &b->h[i];
	}
	return true;
}

struct hist_kept *hists_new(struct hists *hs)
{
	return hs->unused.n || block_new(hs) ? hs->unused.v[--hs->unused.n] : NULL;
}

void hists_give_up(struct hists *hs, struct hist_kept *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i <= hist_cell(h->max); i++)
		*hist_kept_cell(h, i) = (struct hist_cell){ 0 };
	*h = (struct hist_kept){ .v = h->v };
	hs->unused.v[hs->unused.n++] = h;
}

void hists_free(struct hists *hs)
{
	for (size_t i = 0; i < hs->blocks.n; i++)
		free(hs->blocks.v[i]);
	vec_free(&hs->blocks);
	vec_free(&hs->unused);
}

void hist_merge(struct hist *into, const struct hist_kept *from)
{
	if (from->max > into->max)
		into->max = from->max;
	for (unsigned i = 0; i <= hist_cell(from->max); i++) {
		const struct hist_cell *cell = hist_kept_cell(from, i);

		into->n += cell->count;
		into->sum += cell->sum;
		into->v[i].count += cell->count;
		into->v[i].sum += cell->sum;
	}
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t rank = (uint64_t)(q * (double)h->n), seen = 0;

	if (rank >= h->n)
		rank = h->n ? h->n - 1 : 0;
	for (unsigned i = 0; i < HIST_CELLS; i++) {
		seen += h->v[i].count;
		if (seen > rank)
			return h->v[i].sum / h->v[i].count;
	}
	return 0;
}

uint64_t hist_above(const struct hist *h, uint64_t expected)
{
	uint64_t above = 0;

	for (unsigned i = hist_cell(expected) + 1; i < HIST_CELLS; i++)
		above += h->v[i].sum - h->v[i].count * expected;
	return above;
}
