/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays tracks: says what a part of a track is in terms of segments, and over which spans the
 * gain is asked for.
 */
#include "lib/tracks/track_internal.h"

struct replay *path_tracks_replay_new(struct path_tracks *t)
{
	return replay_new(t->path);
}

static const struct track_state *find_state(const struct path_tracks *t, uint32_t anchor)
{
	uint64_t at;

	return map_get(&t->by_anchor, anchor, &at) ? &t->v.v[at] : NULL;
}

bool path_tracks_replay_mark(struct path_tracks *t, struct replay *r, uint32_t anchor,
			     uint32_t number, unsigned lane, bool stays)
{
	const struct track_state *s = find_state(t, anchor);
	const struct track_key *k;
	struct replay_mark m = { .lane = lane, .stays = stays };

	if (!s || !number || number > s->sums.v.n)
		return true;
	k = &s->sums.v.v[number - 1].key;
	m.thread = k->thread;
	m.occupant =
		k->occupant && !path_is_partner(t->path, anchor, k->occupant) ? k->occupant : 0;
	m.exclusion = k->lock;
	m.s = track_key_segment(k);
	return replay_mark(r, &m);
}

bool path_tracks_replay_run(struct path_tracks *t, struct replay *r, uint32_t anchor,
			    struct replay_gains *out)
{
	const struct track_state *s = find_state(t, anchor);
	int loop = s ? path_tracks_loop(t, s) : -1;
	const struct step_runs *runs = loop < 0 ? NULL : &t->runs.v[loop];
	struct replay_span all = { 0 };
	VEC(struct replay_span) spans = { 0 };
	bool ok = true;

	for (size_t i = 0; runs && ok && i < runs->v.n; i++)
		ok = vec_push(&spans,
			      (struct replay_span){ runs->v.v[i].begin_ns, runs->v.v[i].end_ns });
	if (ok && !spans.n) {
		for (size_t i = 0; i < path_anchors(t->path); i++) {
			struct path_anchor a = path_anchor(t->path, i);

			if (a.thread == anchor)
				all = (struct replay_span){ a.begin_ns, a.end_ns };
		}
		ok = vec_push(&spans, all);
	}
	ok = ok && replay_run(r, anchor, spans.v, spans.n, out);
	vec_free(&spans);
	return ok;
}
