/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and lookup of critical paths (lib/model/paths.h): what they are made of is in one arena.
 */
#include "lib/model/paths.h"

#include "lib/model/finding.h"

#define HANG_STEPS 10 /* of its steps: a shorter wait may be a part of one */

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

const struct paths_cause *paths_find_hang(const struct paths_track *t)
{
	const struct paths_phase *last = t->phases.n ? &t->phases.v[t->phases.n - 1] : NULL;

	for (size_t i = 0; last && i < last->causes.n; i++)
		if (last->causes.v[i].severity == FINDING_HIGH &&
		    bytes_equal(last->causes.v[i].class, bytes_of("never ended")))
			return &last->causes.v[i];
	return NULL;
}

bool paths_is_stuck(const struct paths_track *t)
{
	const struct paths_cause *hang = paths_find_hang(t);

	return hang && hang->longest_ns >= HANG_STEPS * t->steps.p50_ns &&
	       t->to_ns > t->steps.last_ns;
}

void paths_free(struct paths *p)
{
	arena_free(&p->memory);
	*p = (struct paths){ 0 };
}
