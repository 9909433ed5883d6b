/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of gaps for each thread, in order of time. Questions mostly come in order, too: the list
 * is searched only where one does not.
 */
#include "lib/tracks/device_gaps.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/bisect.h"

static struct device_gaps_thread *find_thread(const struct device_gaps *g, uint32_t thread)
{
	return thread < g->v.n ? g->v.v[thread] : NULL;
}

static void drop_first(struct device_gaps_thread *th, size_t n)
{
	th->v.n -= n;
	memmove(th->v.v, th->v.v + n, th->v.n * sizeof(th->v.v[0]));
	th->at = 0;
}

bool device_gaps_add(struct device_gaps *g, uint32_t thread, struct device_gap gap)
{
	struct device_gaps_thread *th;

	if (!vec_reach(&g->v, thread))
		return false;
	if (!g->v.v[thread])
		g->v.v[thread] = calloc(1, sizeof(**g->v.v));
	th = g->v.v[thread];
	if (!th)
		return false;
	if (th->v.n && gap.from_ns < th->v.v[th->v.n - 1].to_ns)
		gap.from_ns = th->v.v[th->v.n - 1].to_ns;
	if (gap.from_ns >= gap.to_ns)
		return true;
	if (th->v.n >= DEVICE_GAPS_MAX)
		drop_first(th, DEVICE_GAPS_MAX / 2);
	gap.number = ++th->newest;
	return vec_push(&th->v, gap);
}

/* The first that ends behind ns. */
static size_t find_gap(const struct device_gaps_thread *th, int64_t ns)
{
	size_t low = 0, high = th->v.n;

	bisect(i, low, high, th->v.v[i].to_ns <= ns);
	return low;
}

struct gap_overlap device_gaps_within(struct device_gaps *g, uint32_t thread, int64_t from_ns,
				      int64_t to_ns, bool on_cpu)
{
	struct device_gaps_thread *th = find_thread(g, thread);
	struct gap_overlap sum = { 0 };

	if (!th || !th->v.n || th->v.v[th->v.n - 1].to_ns <= from_ns)
		return sum;
	if (th->at >= th->v.n || (th->at && th->v.v[th->at - 1].to_ns > from_ns))
		th->at = find_gap(th, from_ns);
	for (unsigned i = 0; th->v.v[th->at].to_ns <= from_ns; i++, th->at++)
		if (i == 8) {
			th->at = find_gap(th, from_ns);
			break;
		}
	for (size_t i = th->at; i < th->v.n && th->v.v[i].from_ns < to_ns; i++) {
		const struct device_gap *gap = &th->v.v[i];
		int64_t from = gap->from_ns > from_ns ? gap->from_ns : from_ns,
			to = gap->to_ns < to_ns ? gap->to_ns : to_ns;

		if (on_cpu && gap->brief)
			continue;
		*(gap->at_most ? &sum.at_most_ns : &sum.ns) += (uint64_t)(to - from);
		sum.unended_ns += gap->unended ? (uint64_t)(to - from) : 0;
		sum.number = gap->number;
	}
	return sum;
}

void device_gaps_forget(struct device_gaps *g, uint32_t thread, int64_t before_ns)
{
	struct device_gaps_thread *th = find_thread(g, thread);
	size_t n;

	if (!th)
		return;
	if (before_ns == INT64_MAX) {
		vec_free(&th->v);
		free(th);
		g->v.v[thread] = NULL;
		return;
	}
	n = find_gap(th, before_ns);
	if (n > th->v.n / 2)
		drop_first(th, n);
}

void device_gaps_free(struct device_gaps *g)
{
	for (size_t i = 0; i < g->v.n; i++)
		device_gaps_forget(g, (uint32_t)i, INT64_MAX);
	vec_free(&g->v);
}
