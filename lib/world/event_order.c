/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares events in the canonical order of streams. All sorting and merging uses this comparison,
 * so that the same events always come in the same sequence.
 */
#include "lib/world/event_order.h"

#include <string.h>

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_nodes(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_node *x = world_get_node(w, a), *y = world_get_node(w, b);
	int c;

	if (a == b || !x || !y)
		return compare_numbers(!!x, !!y);
	c = memcmp(x->uuid, y->uuid, sizeof(x->uuid));
	return c ? c : compare_numbers(x->boot, y->boot);
}

static int compare_threads(const struct world *w, uint32_t a, uint32_t b)
{
	const struct world_thread *x = world_get_thread(w, a), *y = world_get_thread(w, b);
	const struct world_process *p, *q;
	int c;

	if (a == b || !x || !y)
		return compare_numbers(!!x, !!y);
	c = compare_numbers(x->tid, y->tid);
	if (!c)
		c = compare_numbers(x->start_ns, y->start_ns);
	if (c)
		return c;
	p = world_get_process(w, x->process);
	q = world_get_process(w, y->process);
	return p && q ? compare_numbers(p->tgid, q->tgid) : compare_numbers(!!p, !!q);
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
		c = compare_numbers(!!x, !!y);
	}
	return c ? c : compare_numbers(b->depth, a->depth);
}
