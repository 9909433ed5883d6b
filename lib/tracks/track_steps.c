/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the pieces of a track to the steps of its loop, and answers what is known of these. Of
 * several tracks whose steps are those of one loop the loop's own thread has them, else the first
 * that asks.
 */
#include "lib/tracks/track_internal.h"

struct step_stats *path_tracks_claim(struct path_tracks *t, const struct track_state *s, int loop)
{
	struct step_stats *stats = loop < 0 ? NULL : t->stats.v[loop];
	uint32_t thread = loop < 0 ? 0 : t->runs.v[loop].thread;

	if (!stats)
		return NULL;
	if (!stats->anchor && (thread == s->anchor || !map_get(&t->by_anchor, thread, NULL)))
		stats->anchor = s->anchor;
	if (stats->anchor != s->anchor)
		return NULL;
	step_stats_rewind(stats);
	return stats;
}

/* Own code and calls of other threads of the process are the program's work, too. */
static enum step_piece_kind kind_of(struct path_tracks *t, const struct track_state *s,
				    const struct track_key *k)
{
	const struct segment *via = k->via ? &path_segment_key(t->path, k->via)->s : NULL;
	const struct segment segment = track_key_segment(k);

	if (k->occupant && !path_is_partner(t->path, s->anchor, k->occupant))
		return STEP_PIECE_LOST;
	switch (path_class_of(&segment)) {
	case PATH_DEVICE:
		return STEP_PIECE_DEVICE;
	case PATH_OWN:
	case PATH_CALL:
		if (via && (k->lock || world_thread_process_id(t->w, k->thread) != s->process))
			return STEP_PIECE_LOST;
		return STEP_PIECE_OWN;
	default:
		return STEP_PIECE_LOST;
	}
}

void path_tracks_add_piece(struct path_tracks *t, const struct track_state *s,
			   struct step_stats *stats, uint32_t number, const struct track_add *add)
{
	enum step_piece_kind kind = kind_of(t, s, &s->sums.v.v[number - 1].key);

	t->nomem |= !step_stats_add_piece(stats, number, add, kind);
}

static const struct track_state *state_of(const struct path_tracks *t, size_t i)
{
	struct path_anchor a = path_anchor(t->path, i);
	uint64_t at;

	return map_get(&t->by_anchor, a.thread, &at) ? &t->v.v[at] : NULL;
}

const struct step_stats *path_tracks_steps(const struct path_tracks *t, size_t i)
{
	const struct track_state *s = state_of(t, i);
	int loop = s ? path_tracks_loop(t, s) : -1;

	if (loop < 0 || !t->stats.v[loop] || t->stats.v[loop]->anchor != s->anchor)
		return NULL;
	return t->stats.v[loop];
}

bool path_tracks_slow_parts(struct path_tracks *t, size_t i, const struct slow_step *step,
			    struct track_parts *out)
{
	const struct track_state *s = state_of(t, i);

	out->v.n = 0;
	for (size_t k = 0; s && k < step->sums.n; k++) {
		const struct step_sum *sum = &step->sums.v[k];
		struct track_part part;

		if (!track_sums_part(&s->sums, sum->number, &sum->total, s->anchor, t->path,
				     &t->names, &part))
			return false;
		path_tracks_mark_pace(t, &part);
		if (!vec_push(&out->v, part))
			return false;
	}
	return true;
}
