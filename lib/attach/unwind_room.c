/* SPDX-License-Identifier: Apache-2.0 */
/* First fit within chunks that are shared with the kernel side; one that is empty goes, but the
 * first. */
#include "lib/attach/unwind_room.h"

#include <string.h>

/* Where n entries fit; false: nowhere. before: index of the extent that is to stand behind. */
static bool find_gap(const struct unwind_chunk *c, uint32_t n, uint32_t *at, size_t *before)
{
	*at = 0;
	for (*before = 0; *before < c->used.n; ++*before) {
		const struct unwind_extent *e = &c->used.v[*before];

		if (e->at - *at >= n)
			return true;
		*at = e->at + e->n;
	}
	return c->size - *at >= n;
}

static bool allocate_in(struct unwind_room *r, uint32_t chunk, uint32_t n, struct unwind_place *out)
{
	struct unwind_chunk *c = &r->v.v[chunk];
	size_t before;

	if (!c->memory || !vec_reserve(&c->used, 1) || !find_gap(c, n, &out->at, &before))
		return false;
	memmove(c->used.v + before + 1, c->used.v + before,
		(c->used.n - before) * sizeof(*c->used.v));
	c->used.v[before] = (struct unwind_extent){ out->at, n };
	c->used.n++;
	out->chunk = chunk;
	return true;
}

/* Its number; false: no memory for it. */
static bool make_chunk(struct unwind_room *r, uint32_t size, uint32_t *number)
{
	struct unwind_chunk *c;

	for (*number = 0; *number < r->v.n && r->v.v[*number].memory; ++*number)
		;
	if (*number >= r->chunks_max || !vec_reach(&r->v, *number))
		return false;
	c = &r->v.v[*number];
	c->size = size;
	c->memory = probe_session_unwind_chunk(r->session, r->kind, *number, size, r->each);
	return c->memory != NULL;
}

bool unwind_room_take(struct unwind_room *r, uint32_t n, struct unwind_place *out)
{
	bool alone = n > r->chunk_size / 2;
	uint32_t number;

	for (uint32_t i = 0; i < r->v.n; i++)
		if (allocate_in(r, i, n, out))
			return true;
	return make_chunk(r, alone ? n : r->chunk_size, &number) && allocate_in(r, number, n, out);
}

void *unwind_room_memory(const struct unwind_room *r, struct unwind_place p)
{
	return (char *)r->v.v[p.chunk].memory + p.at * r->each;
}

static void drop_chunk(struct unwind_room *r, uint32_t number)
{
	struct unwind_chunk *c = &r->v.v[number];

	if (c->memory)
		probe_session_unwind_chunk_gone(r->session, r->kind, number, c->memory,
						c->size * r->each);
	vec_free(&c->used);
	*c = (struct unwind_chunk){ 0 };
}

void unwind_room_give(struct unwind_room *r, struct unwind_place p)
{
	struct unwind_chunk *c = &r->v.v[p.chunk];

	for (size_t i = 0; i < c->used.n; i++)
		if (c->used.v[i].at == p.at) {
			c->used.n--;
			memmove(c->used.v + i, c->used.v + i + 1,
				(c->used.n - i) * sizeof(*c->used.v));
			break;
		}
	if (c->used.n == 0 && p.chunk > 0)
		drop_chunk(r, p.chunk);
}

void unwind_room_free(struct unwind_room *r)
{
	for (uint32_t i = 0; i < r->v.n; i++)
		drop_chunk(r, i);
	vec_free(&r->v);
}
