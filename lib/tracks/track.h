/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks: the life of each anchor's critical path in phases. What lies before the first step of the
 * process's loop is its start, then come the steps and what is between them, then the end. Without
 * a loop all of it is one phase. The phases sum to the life, to the nanosecond.
 */
#ifndef INGERO_TRACKS_TRACK_H
#define INGERO_TRACKS_TRACK_H

#include "lib/tracks/allowed_cpus.h"
#include "lib/tracks/anatomy.h"
#include "lib/tracks/device_use.h"
#include "lib/tracks/first_calls.h"
#include "lib/tracks/io_limits.h"
#include "lib/tracks/new_processes.h"
#include "lib/tracks/step_stats.h"
#include "lib/tracks/track_sums.h"
#include "lib/event/stream.h"
#include "lib/loops/loops.h"
#include "lib/model/paths.h"
#include "lib/path/path_unended.h"
#include "lib/path/replay.h"

/* Pieces of one anchor that wait until it is known whether they lie in a step: 24 bytes each. */
#define TRACK_PIECES_MAX 524288
/* Of all anchors together: beyond it, who has got many more is summed. */
#define TRACKS_PIECES_MAX 2097152

/* Tracks of ended threads that are kept: those with the longest lives. No more tracks are
 * reported. */
#define TRACKS_KEPT 64

struct path_tracks;

/* w stays the caller's. NULL: out of memory. */
struct path_tracks *path_tracks_new(const struct world *w);
void path_tracks_free(struct path_tracks *t);

/* Every item of the stream. */
int path_tracks_item(struct path_tracks *t, const struct stream_item *item, struct err *e);
/* From then on the device has work to do for this thread, or none, which has made so many calls;
 * and for all of its process. False: out of memory. */
bool path_tracks_device(struct path_tracks *t, uint32_t thread, int64_t ns, bool busy,
			uint64_t calls);
bool path_tracks_device_all(struct path_tracks *t, uint32_t process, int64_t ns, bool busy,
			    uint64_t calls);
/* A gap of the devices that the thread gives work is over; its number is given. False: out of
 * memory. */
bool path_tracks_gap(struct path_tracks *t, uint32_t thread, struct device_gap gap);
/* It ended long ago: that it had work now and then is forgotten. */
void path_tracks_device_gone(struct path_tracks *t, uint32_t thread);
void path_tracks_device_all_gone(struct path_tracks *t, uint32_t process);
/* Up to here nothing of this anchor's path is waited for; INT64_MAX: nothing is to come,
 * INT64_MIN: nothing is known of it. */
int64_t path_tracks_known_ns(const struct path_tracks *t, uint32_t anchor);
/* The stream is over; what follows answers from then on. */
int path_tracks_finish(struct path_tracks *t, struct err *e);

struct track_phase {
	enum track_window window;
	int64_t from_ns, to_ns; /* of the first and the last piece in it */
	uint64_t ns;		/* of all pieces */
};

/* Borrowed from the tracks. */
struct track {
	uint32_t anchor; /* world thread id */
	int64_t begin_ns, end_ns;
	const struct loop *loop;		  /* whose steps they are; NULL: none is known */
	struct track_phase phases[TRACK_WINDOWS]; /* in order, those that are not empty */
	unsigned nphases;
};

/* How many steps a mean is to be taken of; 0: that is not known well enough. */
static inline uint64_t track_mean_count(const struct loop *l)
{
	const struct paths_steps s = { .estimated = l->uncertain,
				       .at_least = l->least,
				       .fewest = (uint64_t)l->fewest,
				       .most = (uint64_t)(l->most + 0.5) };

	return paths_steps_have_mean(&s) ? l->estimate : 0;
}

/* Whether what is lost in it counts: its steps and what is between them do, and all of it without a
 * loop. */
static inline bool track_phase_counts(const struct track *t, const struct track_phase *p)
{
	return !t->loop || p->window == WINDOW_STEPS || p->window == WINDOW_BETWEEN;
}

/* What an anchor is called: its process's number, node and command. */
struct track_who {
	uint32_t pid, tid;
	struct bytes node, comm;
};
struct track_who track_who_of(const struct world *w, uint32_t anchor);

size_t path_tracks_count(const struct path_tracks *t);
struct track path_tracks_get(const struct path_tracks *t, size_t i);
/* The parts of one phase; out is emptied. False: out of memory. */
bool path_tracks_parts(struct path_tracks *t, size_t i, enum track_window window,
		       struct track_parts *out);
/* What is known of the steps of track i, one by one; NULL: they are another track's, or none. */
const struct step_stats *path_tracks_steps(const struct path_tracks *t, size_t i);
/* The parts of one of its slow steps; out is emptied. False: out of memory. */
bool path_tracks_slow_parts(struct path_tracks *t, size_t i, const struct slow_step *step,
			    struct track_parts *out);
/* What all threads' tracks have got since this was asked for. False: out of memory. */
typedef bool path_tracks_hear(void *ctx, uint32_t anchor, const struct track_part *p);
bool path_tracks_grown(struct path_tracks *t, path_tracks_hear *hear, void *ctx);
/* Whom a thread waits for that never woke up again. */
uint64_t path_tracks_queued_ns(const struct path_tracks *t, uint32_t thread); /* path_queued_ns */
void path_tracks_unended(const struct path_tracks *t, uint32_t thread, struct path_unended *out);
/* What the parts refer to. */
struct track_names *path_tracks_names(struct path_tracks *t);
const struct allowed_cpus *path_tracks_allowed(const struct path_tracks *t);
const struct io_limits *path_tracks_limits(const struct path_tracks *t);
const struct new_processes *path_tracks_forks(const struct path_tracks *t);
/* Processes that the one of track i started between its steps, or in them; parts: of these. False:
 * out of memory. */
bool path_tracks_new_processes(const struct path_tracks *t, size_t i, bool within,
			       const struct track_parts *parts, struct new_between *out);
/* What-if by replay, when the tracks are finished (lib/path/replay.h). The part of this number of
 * the anchor's track is the lane's cause. False: out of memory. */
bool path_tracks_replay_mark(struct path_tracks *t, struct replay *r, uint32_t anchor,
			     uint32_t number, unsigned lane, bool stays);
/* Over the steps of the anchor's track, or all of it where none are known. False: out of memory. */
bool path_tracks_replay_run(struct path_tracks *t, struct replay *r, uint32_t anchor,
			    struct replay_gains *out);
/* NULL: out of memory. */
struct replay *path_tracks_replay_new(struct path_tracks *t);
const struct first_calls *path_tracks_firsts(const struct path_tracks *t);

#endif
