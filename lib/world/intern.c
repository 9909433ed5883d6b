/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of unique elements with ids. Open addressing over slots of (hash, id); elements are
 * in chunks, so that they never move.
 */
#include "lib/world/intern.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/oom_flag.h"

/* One half of the hash gives both the position and the first comparison, so that growing needs no
 * look at the elements. */
static uint32_t intern_tag(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

uint32_t intern_find(const struct intern *t, uint64_t hash, intern_equal *equal, const void *key)
{
	uint32_t tag = intern_tag(hash);

	if (!t->cap)
		return 0;
	for (uint32_t i = tag & (t->cap - 1);; i = (i + 1) & (t->cap - 1)) {
		const struct intern_slot *s = &t->slots[i];

		if (!s->id)
			return 0;
		if (s->tag == tag && equal(intern_at(t, s->id), key))
			return s->id;
	}
}

static void insert_slot(struct intern_slot *slots, uint32_t cap, uint32_t tag, uint32_t id)
{
	for (uint32_t i = tag & (cap - 1);; i = (i + 1) & (cap - 1)) {
		if (!slots[i].id) {
			slots[i] = (struct intern_slot){ tag, id };
			return;
		}
	}
}

static bool grow_table(struct intern *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 64;
	struct intern_slot *slots;

	if (cap < t->cap)
		return false;
	slots = calloc(cap, sizeof(*slots));
	if (!slots) {
		oom_flag_set();
		return false;
	}
	for (uint32_t i = 0; i < t->cap; i++)
		if (t->slots[i].id)
			insert_slot(slots, cap, t->slots[i].tag, t->slots[i].id);
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return true;
}

uint32_t intern_append(struct intern *t, const void *element)
{
	uint32_t chunk = t->n / INTERN_CHUNK;

	if (t->n == UINT32_MAX - 1)
		return 0;
	if (t->n % INTERN_CHUNK == 0) {
		/* The list of chunks doubles at powers of two. */
		if ((chunk & (chunk - 1)) == 0) {
			void **chunks =
				realloc(t->chunks, (chunk ? chunk * 2 : 1) * sizeof(*chunks));

			if (!chunks) {
				oom_flag_set();
				return 0;
			}
			t->chunks = chunks;
		}
		t->chunks[chunk] = malloc(INTERN_CHUNK * t->each);
		if (!t->chunks[chunk]) {
			oom_flag_set();
			return 0;
		}
	}
	t->n++;
	memcpy(intern_at(t, t->n), element, t->each);
	return t->n;
}

uint32_t intern_add(struct intern *t, uint64_t hash, const void *element)
{
	uint32_t id;

	if (((uint64_t)t->n + 1) * 4 > (uint64_t)t->cap * 3 && !grow_table(t))
		return 0;
	id = intern_append(t, element);
	if (id)
		insert_slot(t->slots, t->cap, intern_tag(hash), id);
	return id;
}

void *intern_at(const struct intern *t, uint32_t id)
{
	if (id == 0 || id > t->n)
		return NULL;
	id--;
	return (char *)t->chunks[id / INTERN_CHUNK] + id % INTERN_CHUNK * t->each;
}

void intern_free(struct intern *t)
{
	for (uint32_t i = 0; i * INTERN_CHUNK < t->n; i++)
		free(t->chunks[i]);
	free(t->chunks);
	free(t->slots);
	*t = (struct intern){ .each = t->each };
}
