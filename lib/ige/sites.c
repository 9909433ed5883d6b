/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of call sites: open addressing, at most half full; comparing tags saves most
 * accesses to the list. */
#include "lib/ige/sites.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

#define CAP_FIRST 1024

static uint64_t hash_of(const struct ige_site *s)
{
	uint64_t hash = hash_u64((uint64_t)s->op << 32 | (uint32_t)s->ret);

	hash = hash_u64(hash ^ ((uint64_t)s->stack << 32 | s->present));
	for (unsigned i = 0, n = (unsigned)__builtin_popcount(s->args); i < n; i++)
		hash = hash_u64(hash ^ s->x[i]);
	return hash;
}

static bool grow_slots(struct ige_sites *s)
{
	uint32_t cap = s->cap ? s->cap * 2 : CAP_FIRST;
	struct ige_sites_slot_ *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	free(s->slots);
	s->slots = slots;
	s->cap = cap;
	for (size_t k = 0; k < s->list.n; k++) {
		uint64_t hash = hash_of(&s->list.v[k].site);
		uint32_t i = (uint32_t)hash & (cap - 1);

		while (slots[i].at)
			i = (i + 1) & (cap - 1);
		slots[i] = (struct ige_sites_slot_){ (uint32_t)(hash >> 32), (uint32_t)k + 1 };
	}
	return true;
}

uint32_t ige_sites_find(struct ige_sites *s, const struct ige_site *site, bool add)
{
	uint64_t hash = hash_of(site);
	uint32_t tag = (uint32_t)(hash >> 32), i;

	if (s->list.n >= s->cap / 2 && (s->cap > UINT32_MAX / 2 || !grow_slots(s)))
		return UINT32_MAX;
	for (i = (uint32_t)hash & (s->cap - 1); s->slots[i].at; i = (i + 1) & (s->cap - 1))
		if (s->slots[i].tag == tag &&
		    !memcmp(&s->list.v[s->slots[i].at - 1].site, site, sizeof(*site)))
			return s->slots[i].at - 1;
	if (!add || !vec_push(&s->list, (struct ige_sites_entry_){ .site = *site }))
		return UINT32_MAX;
	s->slots[i] = (struct ige_sites_slot_){ tag, (uint32_t)s->list.n };
	return (uint32_t)s->list.n - 1;
}

void ige_sites_clear(struct ige_sites *s)
{
	if (s->slots)
		memset(s->slots, 0, s->cap * sizeof(*s->slots));
	s->list.n = 0;
}

void ige_sites_free(struct ige_sites *s)
{
	free(s->slots);
	vec_free(&s->list);
	memset(s, 0, sizeof(*s));
}
