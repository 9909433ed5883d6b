/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the time of nested calls until the outermost one of a thread returns. A level's children
 * always lie before the event being handled, and do not overlap each other; a child that would
 * overlap its elder sibling counts from that one's end, as unknown time.
 */
#include "lib/attrib/nest.h"

#include <stdlib.h>

#include "lib/base/compiler.h"

void nest_free(struct nest *n)
{
	for (unsigned i = 0; i < NEST_DEPTH; i++)
		free(n->level[i]);
	*n = (struct nest){ 0 };
}

static struct nest_level *level_need(struct nest *n, unsigned depth)
{
	if (!n->level[depth])
		n->level[depth] = calloc(1, sizeof(struct nest_level));
	return n->level[depth];
}

/* Disjoint children of from join those of into. */
static void level_join(struct nest_level *into, struct nest_level *from)
{
	if (from->ns == 0)
		return;
	if (into->ns == 0) {
		into->first_ns = from->first_ns;
		into->last_ns = from->last_ns;
	} else {
		if (from->first_ns < into->first_ns)
			into->first_ns = from->first_ns;
		if (from->last_ns > into->last_ns)
			into->last_ns = from->last_ns;
	}
	into->ns += from->ns;
	into->calls_ns += from->calls_ns;
	into->sync |= from->sync;
	parts_merge(&into->parts, &from->parts);
	nest_level_clear(from);
}

/* Children deeper than depth + 1 lost the call they were in: they count at depth + 1. */
NOINLINE static struct nest_level *levels_join(struct nest *n, unsigned depth)
{
	struct nest_level *l = NULL;

	for (unsigned k = n->deepest; k > depth; k--) {
		struct nest_level *at = n->level[k];

		if (!at || at->ns == 0)
			continue;
		if (k > depth + 1) {
			l = level_need(n, k - 1);
			if (l)
				level_join(l, at);
		}
	}
	if (n->deepest > depth)
		n->deepest = depth + 1;
	l = depth + 1 < NEST_DEPTH ? n->level[depth + 1] : NULL;
	return l && l->ns ? l : NULL;
}

ALWAYS_INLINE struct nest_level *levels_gather(struct nest *n, unsigned depth)
{
	struct nest_level *l;

	if (n->deepest != depth + 1)
		return levels_join(n, depth);
	l = n->level[n->deepest]; /* there are none deeper */
	return l && l->ns ? l : NULL;
}

/* Children of calls that never arrived become children of the call around them. */
NOINLINE static bool orphans_up(struct nest *n, unsigned depth)
{
	struct nest_level *l = levels_gather(n, depth), *into;

	if (!l)
		return true;
	into = level_need(n, depth);
	if (!into)
		return false;
	level_join(into, l);
	n->deepest = depth;
	return true;
}

bool nest_add(struct nest *n, enum nest_child child, unsigned depth, int64_t start_ns,
	      int64_t end_ns, const struct parts *parts, bool sync)
{
	struct nest_level *l;
	uint64_t ns;

	if (depth >= NEST_DEPTH)
		depth = NEST_DEPTH - 1;
	if (end_ns <= start_ns)
		return true;
	if (n->deepest > depth && !orphans_up(n, depth))
		return false;
	l = level_need(n, depth);
	if (!l)
		return false;
	if (l->ns && start_ns < l->last_ns) {
		if (end_ns <= l->last_ns)
			return true;
		ns = (uint64_t)(end_ns - l->last_ns);
		parts_add(&l->parts, PART_UNKNOWN, 0, ns);
	} else {
		if (l->ns == 0)
			l->first_ns = start_ns;
		ns = (uint64_t)(end_ns - start_ns);
		parts_merge(&l->parts, parts);
	}
	l->ns += ns;
	l->calls_ns += child == NEST_CALL ? ns : 0;
	l->last_ns = end_ns;
	l->sync |= sync;
	if (n->deepest < depth)
		n->deepest = depth;
	return true;
}

void nest_take_some(struct nest *n, unsigned depth, int64_t start_ns, int64_t end_ns,
		    struct nest_call *c)
{
	struct nest_level *l = levels_gather(n, depth);

	n->deepest = depth;
	if (!l)
		return;
	if (l->last_ns <= start_ns) {
		struct nest_level *up = depth ? level_need(n, depth) : NULL;

		if (up) {
			level_join(up, l);
			return;
		}
		parts_copy(c->orphans, &l->parts);
		c->orphans_ns = l->ns;
		c->orphans_first_ns = l->first_ns;
		c->orphans_last_ns = l->last_ns;
	} else if (l->first_ns < start_ns || l->last_ns > end_ns ||
		   l->ns > (uint64_t)(end_ns - start_ns)) {
		c->sound = false;
	} else {
		parts_copy(c->inner, &l->parts);
		c->inner_ns = l->ns;
		c->calls_ns = l->calls_ns;
		c->sync = l->sync;
	}
	nest_level_clear(l);
}

unsigned nest_held(const struct nest *n)
{
	unsigned held = 0;

	for (unsigned i = 0; i < NEST_DEPTH; i++)
		held += n->level[i] != NULL;
	return held;
}
