/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and lookup of critical paths (lib/model/paths.h): what they are made of is in one arena.
 */
#include "lib/model/paths.h"

struct bytes paths_copy(struct paths *p, struct bytes text)
{
	char *copy = text.p ? arena_copy(&p->memory, text.p, text.n) : NULL;

	p->failed |= text.p && !copy;
	return (struct bytes){ copy, copy ? text.n : 0 };
}

void *paths_added_(struct paths *p, void *element)
{
	p->failed |= !element;
	return element;
}

const struct paths_phase *paths_find_phase(const struct paths_track *t, const char *name)
{
	for (size_t i = 0; i < t->phases.n; i++)
		if (bytes_equal(t->phases.v[i].name, bytes_of(name)))
			return &t->phases.v[i];
	return NULL;
}

void paths_free(struct paths *p)
{
	arena_free(&p->memory);
	*p = (struct paths){ 0 };
}
