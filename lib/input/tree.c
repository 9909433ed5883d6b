/* SPDX-License-Identifier: Apache-2.0 */
/* Building a tree of losers: every pair plays once, from the leaves up; winners go on. */
#include "lib/input/tree.h"

#include <stdlib.h>

bool input_tree_init(struct input_tree *t, uint32_t n)
{
	t->leaves = 2;
	while (t->leaves < n)
		t->leaves *= 2;
	t->node = calloc(t->leaves, sizeof(*t->node));
	return t->node != NULL;
}

void input_tree_free(struct input_tree *t)
{
	free(t->node);
	t->node = NULL;
}

static bool comes_first(const struct input_tree *t, struct input_tree_node a,
			struct input_tree_node b)
{
	if (a.key != b.key)
		return a.key < b.key;
	return a.key == INPUT_TREE_ENDED || t->before(t->arg, a.lane, b.lane);
}

/* The winner of the subtree at node i; each loser stays where it lost. Recursion as deep as the
 * tree. */
static struct input_tree_node play_subtree(struct input_tree *t, const uint64_t *keys, uint32_t n,
					   uint32_t i)
{
	struct input_tree_node a, b;

	if (i >= t->leaves) {
		uint32_t lane = i - t->leaves;

		return (struct input_tree_node){ lane < n ? keys[lane] : INPUT_TREE_ENDED, lane,
						 0 };
	}
	a = play_subtree(t, keys, n, 2 * i);
	b = play_subtree(t, keys, n, 2 * i + 1);
	if (comes_first(t, a, b)) {
		t->node[i] = b;
		return a;
	}
	t->node[i] = a;
	return b;
}

void input_tree_build(struct input_tree *t, const uint64_t *keys, uint32_t n)
{
	t->node[0] = play_subtree(t, keys, n, 1);
}
