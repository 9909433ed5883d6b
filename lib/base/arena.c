/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that double up to a megabyte; a request larger than a block's remainder opens the next
 * one, and a large one gets a block of its own behind the current one, which stays in use.
 */
#include "lib/base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/check.h"
#include "lib/base/oom_flag.h"

#define BLOCK_FIRST 4096u
#define BLOCK_MAX   (1u << 20)

struct arena_block_ {
	struct arena_block_ *next;
	size_t used, cap;
	max_align_t data[];
};

static struct arena_block_ *block_new(struct arena *a, size_t cap)
{
	struct arena_block_ *b;
	size_t size;

	if (!size_add(cap, sizeof(*b), &size))
		return NULL;
	b = malloc(size);
	if (!b) {
		oom_flag_set();
		return NULL;
	}
	*b = (struct arena_block_){ .cap = cap };
	a->total += size;
	return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block_ *b = a->first;
	size_t cap;
	void *p;

	if (!size_add(n, 7, &n))
		return NULL;
	n &= ~(size_t)7;
	if (!b || b->cap - b->used < n) {
		cap = !b ? BLOCK_FIRST : b->cap < BLOCK_MAX ? b->cap * 2 : BLOCK_MAX;
		if (b && n > cap / 4) {
			struct arena_block_ *own = block_new(a, n);

			if (!own)
				return NULL;
			own->used = n;
			own->next = b->next;
			b->next = own;
			return own->data;
		}
		b = block_new(a, n > cap ? n : cap);
		if (!b)
			return NULL;
		b->next = a->first;
		a->first = b;
	}
	p = (char *)b->data + b->used;
	b->used += n;
	return p;
}

char *arena_copy(struct arena *a, const void *p, size_t n)
{
	size_t size;
	char *copy;

	if (!size_add(n, 1, &size))
		return NULL;
	copy = arena_alloc(a, size);
	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

void arena_free(struct arena *a)
{
	struct arena_block_ *b = a->first;

	while (b) {
		struct arena_block_ *next = b->next;

		free(b);
		b = next;
	}
	*a = (struct arena){ 0 };
}
