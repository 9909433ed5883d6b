/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the longest wait without an end in a track's last phase, and asks whom it is for.
 */
#include "lib/tracks/track_hang.h"

static bool find_cause(const struct path_causes *causes, struct track_hang *h)
{
	for (size_t k = 0; k < causes->v.n; k++) {
		h->cause = causes->v.v[k];
		if (h->cause.class == PATH_UNENDED && h->cause.longest_ns >= TRACK_HANG_NS)
			return true;
	}
	return false;
}

static void find_part(const struct track_parts *parts, struct track_hang *h)
{
	for (size_t k = 0; k < parts->v.n; k++) {
		const struct track_part *part = &parts->v.v[k];

		if (part->class == PATH_UNENDED && part->ns > h->part.ns)
			h->part = *part;
	}
}

bool track_hang_find(struct path_tracks *t, size_t i, struct track_hang *h, bool *found)
{
	const struct track track = path_tracks_get(t, i);
	struct track_parts parts = { 0 };
	struct path_causes causes = { 0 };
	bool ok;

	*h = (struct track_hang){ 0 };
	*found = false;
	if (!track.nphases)
		return true;
	path_tracks_unended(t, track.anchor, &h->chain);
	if (!h->chain.n || !h->chain.v[0].waits)
		return true;
	ok = path_tracks_parts(t, i, track.phases[track.nphases - 1].window, &parts) &&
	     path_causes_make(&causes, path_tracks_names(t), track.anchor, &parts);
	if (ok) {
		*found = find_cause(&causes, h) &&
			 path_unended_is_hang(&h->chain, h->cause.longest_ns);
		find_part(&parts, h);
	}
	path_causes_free(&causes);
	vec_free(&parts.v);
	return ok;
}

bool track_hang_is_after_steps(const struct track_hang *h, const struct track *t)
{
	return t->loop && t->end_ns > t->loop->last_ns &&
	       (double)h->cause.longest_ns >=
		       TRACK_HANG_STEPS * sketch_quantile(&t->loop->dur, 0.5);
}
