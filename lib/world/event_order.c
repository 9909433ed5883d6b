/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of streams, in one comparison: whoever sorts or joins events uses this one, so that the
 * same events always come out as the same sequence.
 */
#include "lib/world/event_order.h"

#include <string.h>

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_nodes(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_node *x = world_get_node(w, a), *y = world_get_node(w, b);
	int c;

	if (a == b || !x || !y)
		return compare(!!x, !!y);
	c = memcmp(x->uuid, y->uuid, sizeof(x->uuid));
	return c ? c : compare(x->boot, y->boot);
}

static int compare_threads(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_thread *x = world_get_thread(w, a), *y = world_get_thread(w, b);
	const struct world_process *p, *q;
	int c;

	if (a == b || !x || !y)
		return compare(!!x, !!y);
	c = compare(x->tid, y->tid);
	if (!c)
		c = compare(x->start_ns, y->start_ns);
	if (c)
		return c;
	p = world_get_process(w, x->process);
	q = world_get_process(w, y->process);
	return p && q ? compare(p->tgid, q->tgid) : compare(!!p, !!q);
}

int world_event_order(const struct world *w, const struct event *a, const struct event *b)
{
	const struct world_ctx *x, *y;
	int c;

	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	x = world_get_ctx(w, a->ctx);
	y = world_get_ctx(w, b->ctx);
	if (x && y && x != y) {
		c = compare_nodes(w, x->node, y->node);
		if (!c)
			c = compare_threads(w, x->thread, y->thread);
	} else {
		c = compare(!!x, !!y);
	}
	return c ? c : compare(b->depth, a->depth);
}
