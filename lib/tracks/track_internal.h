/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of tracks, for lib/tracks/track*.c alone.
 */
#ifndef INGERO_TRACKS_TRACK_INTERNAL_H
#define INGERO_TRACKS_TRACK_INTERNAL_H

#include "lib/tracks/sleep_sites.h"
#include "lib/tracks/step_runs.h"
#include "lib/tracks/step_stats.h"
#include "lib/tracks/track.h"
#include "lib/loops/loops_feed.h"
#include "lib/path/path_feed.h"

struct held_piece {
	int64_t from_ns, to_ns;
	uint32_t number; /* of its sum */
	uint32_t wait;	 /* number of the anchor's time off its CPU that it is of */
};

/* Of the pieces in a window: from the first to the last, and their time. */
struct track_span {
	int64_t from_ns, to_ns;
	uint64_t ns;
};

struct track_state {
	uint32_t anchor, process;
	struct track_sums sums;
	VEC(struct held_piece) held;
	size_t settle_at; /* held pieces */
	int settled;	  /* loop by whose steps some were summed; -1: none */
	uint64_t ns;	  /* of all pieces */
	uint32_t waits;	  /* times off its CPU so far */
	bool off;	  /* the newest piece is of one */
	bool grown;	  /* it is in the list of those */
	bool dropped;	  /* it ended, and others lived longer: nothing more is kept of it */
	struct track_span phases[TRACK_WINDOWS];
};

/* Keys of anchors that were forgotten are used again, for others. */
struct key_sum {
	uint32_t anchor;
	uint32_t number; /* of its sum; 0: none */
	bool off;	 /* the thread is off its CPU in it */
	bool own;	 /* it is in its own code */
};

struct path_tracks {
	struct path_listener path_listener; /* first: listeners are cast back */
	struct loop_listener loop_listener;
	const struct world *w;
	struct path *path;
	struct path_feed path_feed;
	struct unended_facts unended;
	struct device_use device_of_thread, device_of_process;
	struct device_gaps gaps;
	struct loops *loops;
	struct loops_feed loops_feed;
	struct track_names names;
	struct first_calls firsts;
	struct allowed_cpus allowed;
	struct io_limits limits;
	struct new_processes forks;
	struct sleep_sites sleeps;
	VEC(struct track_state) v;
	struct map by_anchor;
	VEC(uint32_t) grown;		/* those of v that got pieces since they were asked for */
	struct track_state *newest;	/* of the last piece; NULL: none since v changed */
	VEC(struct key_sum) by_key;	/* by key of an anchor's own segment */
	VEC(struct step_runs) runs;	/* by loop */
	VEC(struct step_stats *) stats; /* the same; NULL: none, or nobody needs them any more */
	size_t prune_at;		/* tracks */
	size_t held;			/* pieces of all tracks */
	uint32_t cpu_samples_hz;	/* of the first session that says so; 0: none did */
	bool nomem;
};

/* The loop whose steps are the anchor's, as step_runs_choose has it. */
int path_tracks_loop(const struct path_tracks *t, const struct track_state *s);

/* Notes of a part what is known of the sleeps at its line. Waits that ran out are sleeps where they
 * keep a pace: else somebody may have been expected meanwhile. */
static inline void path_tracks_mark_pace(const struct path_tracks *t, struct track_part *p)
{
	bool ran_out = p->ran_out && (p->class == PATH_OUTSIDE || p->class == PATH_BLOCKED);

	if (p->class != PATH_SLEEP && !ran_out)
		return;
	p->pace = sleep_sites_pace(&t->sleeps, p->leaf,
				   p->event_loop ? SLEEP_SITES_EVENT_LOOP : p->site);
	if (!ran_out && p->pace != PACE_KEPT && !p->event_loop)
		p->poll = sleep_sites_poll(&t->sleeps, p->leaf, p->site);
	if (!ran_out)
		return;
	if (p->pace != PACE_KEPT) {
		p->pace = PACE_UNKNOWN;
		return;
	}
	p->class = PATH_SLEEP;
	p->blocked_on = OBJECT_TIMER;
	p->ran_out = false;
}

#define PRUNE_TRACKS 64 /* so many more, and it is looked which of them are to be dropped */

/* track_ended.c: those of ended threads that are too many are dropped. */
void path_tracks_prune(struct path_tracks *t);
void path_tracks_free_stats(struct path_tracks *t, size_t loop);

/* track_steps.c: where pieces of this track in steps of that loop go; NULL: another track's do. */
struct step_stats *path_tracks_claim(struct path_tracks *t, const struct track_state *s, int loop);
/* A piece of the track, or what of it lies in steps. */
void path_tracks_add_piece(struct path_tracks *t, const struct track_state *s,
			   struct step_stats *stats, uint32_t number, const struct track_add *add);

#endif
