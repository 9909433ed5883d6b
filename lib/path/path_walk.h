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

/* Pieces that have waited for too long are resolved with what is known now. */
void path_walk_expired(struct path *p);

#endif
