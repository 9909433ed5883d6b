/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared lists of executable mappings, by number and generation. A number is given again when its
 * list has gone; the generation is not, so that rules remembered under it, and a process that still
 * names it, never meet another list.
 */
#include "lib/attach/unwind_lists.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"

#define GENERATION_MAX ((1u << UNWIND_GENERATION_BITS) - 1)

#define CHUNK_SIZE (UNWIND_MAPPINGS_MAX + 512) /* any list fits into one */

void unwind_lists_init(struct unwind_lists *l, struct probe_session *session)
{
	l->room = (struct unwind_room){ .session = session,
					.kind = PROBE_UNWIND_LISTS,
					.each = sizeof(struct unwind_mapping),
					.chunk_size = CHUNK_SIZE,
					.chunks_max = UNWIND_LIST_CHUNKS };
}

/* NULL: it is gone. */
static struct unwind_list *list_of(struct unwind_lists *l, uint64_t list)
{
	uint64_t number;

	if (!list || !map_get(&l->by_generation, UNWIND_LIST_GENERATION(list), &number))
		return NULL;
	return &l->v.v[number];
}

static uint64_t id_of(const struct unwind_list *l)
{
	return UNWIND_LIST(l->place.chunk, l->place.at, l->generation);
}

static size_t bytes_of_list(const struct unwind_list *l)
{
	return ((size_t)l->n + 1) * sizeof(*l->mappings);
}

static uint32_t next_generation(struct unwind_lists *l)
{
	do
		l->generation = l->generation % GENERATION_MAX + 1;
	while (map_get(&l->by_generation, l->generation, NULL));
	return l->generation;
}

/* False: there is none. */
static bool free_number(struct unwind_lists *l, uint32_t *number)
{
	if (l->free.n) {
		*number = l->free.v[--l->free.n];
		return true;
	}
	*number = (uint32_t)l->v.n;
	/* Room for all numbers to be given back. */
	return vec_reach(&l->v, *number) && vec_reserve(&l->free, l->v.n);
}

/* The first entry last: it says that the others are there. */
static void write_list(struct unwind_lists *l, const struct unwind_list *of)
{
	struct unwind_mapping *m = unwind_room_memory(&l->room, of->place);

	memcpy(m + 1, of->mappings, of->n * sizeof(*m));
	m->start = of->n;
	__atomic_store_n(&m->end, of->generation, __ATOMIC_SEQ_CST);
}

static void clear_list(struct unwind_lists *l, const struct unwind_list *of)
{
	struct unwind_mapping *m = unwind_room_memory(&l->room, of->place);

	__atomic_store_n(&m->end, 0, __ATOMIC_SEQ_CST);
	unwind_room_give(&l->room, of->place);
}

static bool make_list(struct unwind_lists *l, uint32_t number,
		      const struct unwind_mapping *mappings, uint32_t n, uint64_t hash)
{
	struct unwind_list new = { .hash = hash, .n = n, .users = 1 };

	new.mappings = malloc(n * sizeof(*mappings));
	if (!new.mappings || !unwind_room_take(&l->room, n + 1, &new.place)) {
		free(new.mappings);
		return false;
	}
	memcpy(new.mappings, mappings, n * sizeof(*mappings));
	new.generation = next_generation(l);
	if (!map_put(&l->by_generation, new.generation, number)) {
		unwind_room_give(&l->room, new.place);
		free(new.mappings);
		return false;
	}
	/* Without memory for this it is not shared. */
	map_put(&l->by_hash, hash, number);
	write_list(l, &new);
	l->bytes += bytes_of_list(&new);
	l->v.v[number] = new;
	return true;
}

uint64_t unwind_lists_take(struct unwind_lists *l, const struct unwind_mapping *mappings,
			   uint32_t n, bool *is_new)
{
	uint64_t hash = hash_bytes(mappings, n * sizeof(*mappings), n), known;
	uint32_t number;

	*is_new = false;
	if (map_get(&l->by_hash, hash, &known) && l->v.v[known].n == n &&
	    memcmp(l->v.v[known].mappings, mappings, n * sizeof(*mappings)) == 0) {
		l->v.v[known].users++;
		return id_of(&l->v.v[known]);
	}
	if (!free_number(l, &number))
		return 0;
	if (!make_list(l, number, mappings, n, hash)) {
		vec_push(&l->free, number);
		return 0;
	}
	*is_new = true;
	return id_of(&l->v.v[number]);
}

bool unwind_lists_share(struct unwind_lists *l, uint64_t list)
{
	struct unwind_list *of = list_of(l, list);

	if (of)
		of->users++;
	return of != NULL;
}

bool unwind_lists_drop(struct unwind_lists *l, uint64_t list, unwind_list_gone_fn *gone, void *ctx)
{
	struct unwind_list *of = list_of(l, list);
	uint32_t number;
	uint64_t known;

	if (!of || --of->users)
		return false;
	number = (uint32_t)(of - l->v.v);
	clear_list(l, of);
	for (uint32_t i = 0; i < of->n; i++)
		gone(ctx, &of->mappings[i]);
	if (map_get(&l->by_hash, of->hash, &known) && known == number)
		map_del(&l->by_hash, of->hash);
	map_del(&l->by_generation, of->generation);
	l->bytes -= bytes_of_list(of);
	free(of->mappings);
	*of = (struct unwind_list){ 0 };
	vec_push(&l->free, number);
	return true;
}

void unwind_lists_free(struct unwind_lists *l)
{
	for (size_t i = 0; i < l->v.n; i++)
		free(l->v.v[i].mappings);
	vec_free(&l->v);
	vec_free(&l->free);
	map_free(&l->by_hash);
	map_free(&l->by_generation);
	unwind_room_free(&l->room);
}
