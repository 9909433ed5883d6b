/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that wait for their turn. They mostly come in stream order, and then they are looked at
 * once and never moved; a stretch that came in another order is sorted by its keys, and each event
 * is moved once.
 */
#ifndef INGERO_IGE_PENDING_H
#define INGERO_IGE_PENDING_H

#include "lib/base/vec.h"
#include "lib/event/event.h"
#include "lib/world/world.h"

/* Zero-initialised is empty. */
struct ige_pending {
	VEC(struct event) events; /* from `gone` on they wait */
	size_t gone;
	bool unordered; /* those that wait are not in stream order */
	/* for sorting: */
	VEC(struct event) sorted;
	VEC(uint64_t) key;
	VEC(uint32_t) at, spare;
};

void ige_pending_free(struct ige_pending *p);
static inline size_t ige_pending_count(const struct ige_pending *p)
{
	return p->events.n - p->gone;
}

/* Both false: out of memory. Sorting keeps the order of equal events. */
bool ige_pending_add(struct ige_pending *p, const struct event *ev, const struct world *w);
bool ige_pending_sort(struct ige_pending *p, const struct world *w);

/* The first in stream order, once sorted; NULL: none waits. Good until the next addition or tidying
 * up. */
static inline const struct event *ige_pending_first(const struct ige_pending *p)
{
	return p->gone < p->events.n ? &p->events.v[p->gone] : NULL;
}
static inline void ige_pending_pop(struct ige_pending *p)
{
	p->gone++;
}
/* Room of those that are gone is used again. */
void ige_pending_tidy(struct ige_pending *p);

#endif
