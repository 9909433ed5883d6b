/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of many lanes comes next: a tree of losers over 64-bit keys. Replacing the winner's key
 * costs one comparison per level and, as long as keys differ, no branch that depends on them. A
 * callback orders lanes with equal keys: the key holds the main part of an order, and the rest is
 * rarely compared.
 */
#ifndef INGERO_INPUT_TREE_H
#define INGERO_INPUT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define INPUT_TREE_ENDED UINT64_MAX /* key of a lane with nothing more; comes last */

struct input_tree_node {
	uint64_t key;
	uint32_t lane, pad;
};

struct input_tree {
	uint32_t leaves;	      /* a power of two; lanes beyond those given have ended */
	struct input_tree_node *node; /* [0] the winner, [1..leaves) who lost there */
	/* Lanes a and b stand at equal keys: does a come first? Must be a strict order. */
	bool (*before)(const void *arg, uint32_t a, uint32_t b);
	const void *arg;
};

/* A time as a key: signed order becomes unsigned. Times of events lie far from either end. */
static inline uint64_t input_tree_key(int64_t end_ns)
{
	return (uint64_t)end_ns ^ UINT64_C(1) << 63;
}
static inline int64_t input_tree_time(uint64_t key)
{
	return (int64_t)(key ^ UINT64_C(1) << 63);
}

/* Room for n lanes; false: out of memory. before and arg are the caller's to set. */
bool input_tree_init(struct input_tree *t, uint32_t n);
void input_tree_free(struct input_tree *t);

/* Play from scratch: keys[0..n) are those of the lanes. */
void input_tree_build(struct input_tree *t, const uint64_t *keys, uint32_t n);

static inline uint64_t input_tree_first_key(const struct input_tree *t)
{
	return t->node[0].key;
}
static inline uint32_t input_tree_first(const struct input_tree *t)
{
	return t->node[0].lane;
}

/* The winner's lane now stands at key: who is first then? */
static inline void input_tree_replace(struct input_tree *t, uint64_t key)
{
	uint32_t lane = t->node[0].lane;

	for (uint32_t i = (t->leaves + lane) >> 1; i; i >>= 1) {
		struct input_tree_node *o = &t->node[i];
		uint64_t swap = -(uint64_t)(o->key < key), k, l;

		if (__builtin_expect(o->key == key, 0))
			swap = key != INPUT_TREE_ENDED && t->before(t->arg, o->lane, lane)
				       ? UINT64_MAX
				       : 0;
		k = (o->key ^ key) & swap;
		l = (o->lane ^ lane) & swap;
		o->key ^= k;
		key ^= k;
		o->lane ^= (uint32_t)l;
		lane ^= (uint32_t)l;
	}
	t->node[0].key = key;
	t->node[0].lane = lane;
}

#endif
