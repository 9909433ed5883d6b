/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the late ranks of a collective: those behind the widest gap between two arrivals. Two
 * stragglers that arrive together would hide each other if only the last one counted.
 */
#include "lib/detect/collective_late.h"

#include <stdlib.h>

static int compare_arrivals(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	/* At the same time the first is the last. */
	return x->member > y->member ? -1 : x->member < y->member;
}

size_t collective_late_find(struct arrival *v, size_t n)
{
	int64_t widest = 0;
	size_t late = 1;

	qsort(v, n, sizeof(*v), compare_arrivals);
	for (size_t k = 1; k <= n / 2; k++) {
		int64_t gap = v[n - k].at_ns - v[n - k - 1].at_ns,
			spread = v[n - 1].at_ns - v[n - k].at_ns;

		if (gap > widest && (k == 1 || spread < gap)) {
			widest = gap;
			late = k;
		}
	}
	return late;
}
