/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading histograms of durations.
 */
#include "lib/cause/hist.h"

void hist_merge(struct hist *into, const struct hist *from)
{
	into->n += from->n;
	into->sum += from->sum;
	if (from->max > into->max)
		into->max = from->max;
	for (unsigned i = 0; i < HIST_CELLS; i++) {
		into->v[i].count += from->v[i].count;
		into->v[i].sum += from->v[i].sum;
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
