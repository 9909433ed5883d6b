/* SPDX-License-Identifier: Apache-2.0 */
/* Holds events until they can be written in order. Sorting by end is linear; only events that end
 * together are compared. */
#include "lib/ige/pending.h"

#include <stdlib.h>
#include <string.h>

#include "lib/ige/row_order.h"
#include "lib/world/event_order.h"

void ige_pending_free(struct ige_pending *p)
{
	vec_free(&p->events);
	vec_free(&p->sorted);
	vec_free(&p->key);
	vec_free(&p->at);
	vec_free(&p->spare);
}

bool ige_pending_add(struct ige_pending *p, const struct event *ev, const struct world *w)
{
	const struct event *before;

	if (!vec_push(&p->events, *ev))
		return false;
	if (ige_pending_count(p) == 1)
		p->unordered = false;
	if (ige_pending_count(p) == 1 || p->unordered)
		return true;
	before = &p->events.v[p->events.n - 2];
	p->unordered = before->end_ns > ev->end_ns ||
		       (before->end_ns == ev->end_ns && world_event_order(w, before, ev) > 0);
	return true;
}

struct where {
	const struct ige_pending *pending;
	const struct world *world;
};

static int compare_by_order(const void *a, const void *b, void *arg)
{
	const struct where *in = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = world_event_order(in->world, &in->pending->events.v[x], &in->pending->events.v[y]);

	return c ? c : x < y ? -1 : x > y;
}

bool ige_pending_sort(struct ige_pending *p, const struct world *w)
{
	struct where in = { p, w };
	size_t all = p->events.n, n = ige_pending_count(p), cap;
	struct event *v;

	if (!p->unordered)
		return true;
	if (!vec_reserve(&p->key, all) || !vec_reserve(&p->at, n) || !vec_reserve(&p->spare, n) ||
	    !vec_reserve(&p->sorted, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		p->at.v[i] = (uint32_t)(p->gone + i);
		/* The sign turned over: negative times come first. */
		p->key.v[p->gone + i] = (uint64_t)p->events.v[p->gone + i].end_ns ^ (uint64_t)1
											    << 63;
	}
	ige_order_by(p->at.v, p->spare.v, n, p->key.v);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n; next++)
			if (p->key.v[p->at.v[next]] != p->key.v[p->at.v[i]])
				break;
		if (next > i + 1)
			qsort_r(&p->at.v[i], next - i, sizeof(p->at.v[0]), compare_by_order, &in);
	}
	for (size_t i = 0; i < n; i++)
		p->sorted.v[i] = p->events.v[p->at.v[i]];
	v = p->events.v;
	cap = p->events.cap;
	p->events.v = p->sorted.v;
	p->events.cap = p->sorted.cap;
	p->events.n = n;
	p->sorted.v = v;
	p->sorted.cap = cap;
	p->gone = 0;
	p->unordered = false;
	return true;
}

void ige_pending_tidy(struct ige_pending *p)
{
	size_t left = ige_pending_count(p);

	/* Moved only when that costs less than what went. */
	if (left > p->gone || !p->gone)
		return;
	memcpy(p->events.v, p->events.v + p->gone, left * sizeof(p->events.v[0]));
	p->events.n = left;
	p->gone = 0;
}
