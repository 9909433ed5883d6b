/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks of threads that ended: of thousands of short ones those that lived longest are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/tracks/track_internal.h"

void path_tracks_free_stats(struct path_tracks *t, size_t loop)
{
	if (!t->stats.v[loop])
		return;
	step_stats_reset(t->stats.v[loop]);
	free(t->stats.v[loop]);
	t->stats.v[loop] = NULL;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static bool is_over(const struct path_tracks *t, const struct track_state *s)
{
	return !s->dropped && path_exited(t->path, s->anchor);
}

/* The life that a track of an ended thread must have had to be kept, and how many with no longer
 * one are. False: all are. */
static bool least_kept(struct path_tracks *t, uint64_t *least, size_t *equal)
{
	VEC(uint64_t) lives = { 0 };
	bool some;

	for (size_t i = 0; i < t->v.n; i++)
		if (is_over(t, &t->v.v[i]) && !vec_push(&lives, t->v.v[i].ns))
			t->nomem = true;
	some = lives.n > TRACKS_KEPT;
	if (some) {
		qsort(lives.v, lives.n, sizeof(lives.v[0]), compare_ns);
		*least = lives.v[TRACKS_KEPT - 1];
		for (*equal = 0; *equal < TRACKS_KEPT; ++*equal)
			if (lives.v[TRACKS_KEPT - 1 - *equal] != *least)
				break;
	}
	vec_free(&lives);
	return some;
}

/* Those of which no piece is to come. */
static void forget_dropped(struct path_tracks *t)
{
	size_t keep = 0;

	t->newest = NULL;
	t->grown.n = 0;
	for (size_t i = 0; i < t->v.n; i++) {
		const struct track_state s = t->v.v[i];

		if (s.dropped && path_is_over(t->path, s.anchor)) {
			map_del(&t->by_anchor, s.anchor);
			continue;
		}
		if ((keep < i && !map_put(&t->by_anchor, s.anchor, keep)) ||
		    (s.grown && !vec_push(&t->grown, (uint32_t)keep)))
			t->nomem = true;
		t->v.v[keep++] = s;
	}
	t->v.n = keep;
}

/* Of its loop, and of those of its process that no other track has claimed. */
static void forget_steps(struct path_tracks *t, const struct track_state *s)
{
	for (size_t i = 0; i < t->stats.n; i++) {
		const struct step_stats *stats = t->stats.v[i];

		if (stats && (stats->anchor == s->anchor ||
			      (!stats->anchor &&
			       world_thread_process_id(t->w, t->runs.v[i].thread) == s->process)))
			path_tracks_free_stats(t, i);
	}
}

void path_tracks_prune(struct path_tracks *t)
{
	uint64_t least;
	size_t equal, before = t->v.n;
	bool some = least_kept(t, &least, &equal);

	for (size_t i = 0; some && i < t->v.n; i++) {
		struct track_state *s = &t->v.v[i];

		if (!is_over(t, s) || s->grown || !path_is_over(t->path, s->anchor) ||
		    s->ns > least || (s->ns == least && equal && equal--))
			continue;
		forget_steps(t, s);
		track_sums_free(&s->sums);
		vec_free(&s->held);
		memset(s->phases, 0, sizeof(s->phases));
		s->dropped = true;
	}
	forget_dropped(t);
	t->prune_at = t->v.n + PRUNE_TRACKS;
	/* Each look is at all of them: where few can be dropped, the next one is later. */
	if (before - t->v.n < PRUNE_TRACKS / 2)
		t->prune_at += t->v.n / 8;
}
