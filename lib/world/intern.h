/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of distinct things: dense ids from 1, elements at stable addresses, found by a hash and
 * an equality the caller supplies. Elements are never removed or changed.
 */
#ifndef INGERO_WORLD_INTERN_H
#define INGERO_WORLD_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern_slot {
	uint32_t tag; /* 32 bits of the caller's hash: position, and spares most comparisons */
	uint32_t id;  /* 0: free */
};

struct intern {
	size_t each; /* bytes of one element; set before first use */
	uint32_t n;
	uint32_t cap; /* slots, a power of two */
	struct intern_slot *slots;
	void **chunks; /* INTERN_CHUNK elements each */
};

#define INTERN_CHUNK 512

/* Is element e the one looked for? key is what intern_find was given. */
typedef bool intern_equal(const void *e, const void *key);

uint32_t intern_find(const struct intern *t, uint64_t hash, intern_equal *equal, const void *key);
uint32_t intern_add(struct intern *t, uint64_t hash, const void *element); /* 0: out of memory */
/* …of things that are only asked for by id; not to be mixed with intern_add in one table. */
uint32_t intern_append(struct intern *t, const void *element);
void *intern_at(const struct intern *t, uint32_t id); /* NULL for 0 and unknown */
void intern_free(struct intern *t);

#endif
