/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of loss intervals; the common case, no loss since the start of what is asked about, is one
 * comparison.
 */
#include "lib/attrib/losses.h"

void losses_add(struct losses *l, int64_t since_ns, int64_t until_ns, uint64_t events)
{
	if (l->n == 0 || until_ns > l->newest_ns)
		l->newest_ns = until_ns;
	l->v[l->next++ % LOSSES_KEPT] = (struct losses_interval){ since_ns, until_ns };
	if (l->n < LOSSES_KEPT)
		l->n++;
	l->events += events;
	l->intervals++;
}

bool losses_within_slow(const struct losses *l, int64_t a_ns, int64_t b_ns)
{
	for (uint32_t i = 1; i <= l->n; i++) {
		const struct losses_interval *v = &l->v[(l->next - i) % LOSSES_KEPT];

		if (v->until_ns >= a_ns && v->since_ns <= b_ns)
			return true;
	}
	return l->intervals > l->n && a_ns < l->v[l->next % LOSSES_KEPT].until_ns;
}
