/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares how long a thread ran in all with how long it ran while the main thread waited for it.
 */
#include "lib/account/loss_behind.h"

#define MOSTLY 0.5 /* of what it runs */

static bool add_part(struct lost_time *l, const struct cause *c, uint32_t anchor,
		     const struct track_part *p)
{
	bool main = cause_is_main(c, anchor);
	struct map *m = main ? &l->awaited : &l->ran;
	uint64_t before = 0;

	if ((p->class != PATH_OWN && p->class != PATH_CALL) || main != (p->leaf != anchor))
		return true;
	map_get(m, p->leaf, &before);
	return map_put(m, p->leaf, before + p->ns);
}

static bool add_track(struct lost_time *l, const struct cause *c, size_t i,
		      struct track_parts *parts)
{
	struct track t = path_tracks_get(c->tracks, i);

	for (unsigned k = 0; k < t.nphases; k++) {
		if (!path_tracks_parts(c->tracks, i, t.phases[k].window, parts))
			return false;
		for (size_t n = 0; n < parts->v.n; n++)
			if (!add_part(l, c, t.anchor, &parts->v.v[n]))
				return false;
	}
	return true;
}

bool loss_behind_sum(struct lost_time *l, const struct cause *c, struct track_parts *parts)
{
	map_clear(&l->ran);
	map_clear(&l->awaited);
	for (size_t i = 0; i < path_tracks_count(c->tracks); i++)
		if (!add_track(l, c, i, parts))
			return false;
	return true;
}

bool loss_is_behind(const struct lost_time *l, uint32_t thread)
{
	uint64_t ran, awaited;

	if (l->pane != INT64_MAX)
		return true;
	return map_get(&l->awaited, thread, &awaited) && map_get(&l->ran, thread, &ran) &&
	       (double)awaited > MOSTLY * (double)ran;
}
