/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When events are known to be missing. Time that was "on CPU" only because nothing else was seen
 * is not that where events were lost. Keeps the newest LOSSES_KEPT intervals, and the totals.
 */
#ifndef INGERO_ATTRIB_LOSSES_H
#define INGERO_ATTRIB_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#define LOSSES_KEPT 64

struct losses {
	struct losses_interval {
		int64_t since_ns, until_ns;
	} v[LOSSES_KEPT];
	uint32_t next, n;
	int64_t newest_ns; /* no loss ends after this; valid when n */
	uint64_t events, intervals;
};

void losses_add(struct losses *l, int64_t since_ns, int64_t until_ns, uint64_t events);

/* True when events may be missing within [a, b]. Calls reach back further than what is kept: then
 * true as well. */
bool losses_within_slow(const struct losses *l, int64_t a_ns, int64_t b_ns);

static inline bool losses_within(const struct losses *l, int64_t a_ns, int64_t b_ns)
{
	return l->n && l->newest_ns >= a_ns && losses_within_slow(l, a_ns, b_ns);
}

#endif
