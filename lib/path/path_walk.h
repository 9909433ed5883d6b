/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows an anchor's segments through the threads it waited for, and gives the pieces to the
 * listener. A piece that depends on what is not known yet of a thread waits in that thread's list.
 */
#ifndef INGERO_PATH_PATH_WALK_H
#define INGERO_PATH_PATH_WALK_H

#include "lib/path/path_state.h"

/* What is settled of the track's anchor and was not walked yet. */
void path_walk_track(struct path *p, struct path_track *track);

/* Pieces that waited for this thread and need not any longer. */
void path_walk_pending(struct path *p, struct path_thread *th);

/* [from, to) of any thread's life, as of a track that it is on, with what is known now. The
 * listener has no on_own. */
void path_walk_life(struct path *p, uint32_t track, struct path_thread *th, int64_t from_ns,
		    int64_t to_ns, struct path_listener *listener);

/* When the thread that ended a wait, which is [start_ns, wait->end_ns), acted; INT64_MIN: it did
 * not. */
int64_t path_walk_act(struct path_thread *releaser, const struct segment *wait, int64_t start_ns);

/* Pieces that have waited for too long are resolved with what is known now. */
void path_walk_expired(struct path *p);

#endif
