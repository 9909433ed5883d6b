/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts releases by pair of threads, and finds an anchor's partners by following the pairs from it
 * until no new one is met.
 */
#include "lib/path/releases.h"

void releases_free(struct releases *r)
{
	map_free(&r->counts);
	map_free(&r->partners);
}

bool releases_add(struct releases *r, uint32_t waiter, uint32_t releaser)
{
	uint64_t key = (uint64_t)waiter << 32 | releaser, n = 0;

	map_get(&r->counts, key, &n);
	r->changed = true;
	return map_put(&r->counts, key, n + 1);
}

/* One pass over all pairs; *more: it found a new partner. False: out of memory. */
static bool find_more(struct releases *r, bool *more)
{
	uint64_t key, n;

	*more = false;
	for (size_t at = 0; map_each(&r->counts, &at, &key, &n);) {
		if (n < r->least || !map_get(&r->partners, key >> 32, NULL) ||
		    map_get(&r->partners, key & UINT32_MAX, NULL))
			continue;
		if (!map_put(&r->partners, key & UINT32_MAX, 1))
			return false;
		*more = true;
	}
	return true;
}

static bool find_partners(struct releases *r, uint32_t anchor, uint64_t least)
{
	bool more = true;

	map_clear(&r->partners);
	r->anchor = anchor;
	r->least = least;
	r->changed = false;
	r->found = false;
	if (!map_put(&r->partners, anchor, 1))
		return false;
	while (more) {
		if (!find_more(r, &more))
			return false;
	}
	r->found = true;
	return true;
}

bool releases_is_partner(struct releases *r, uint32_t anchor, uint32_t thread, uint64_t least,
			 bool *nomem)
{
	bool known = r->found && !r->changed && r->anchor == anchor && r->least == least;

	if (!known && !find_partners(r, anchor, least)) {
		*nomem = true;
		return false;
	}
	return map_get(&r->partners, thread, NULL);
}
