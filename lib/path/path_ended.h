/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that have ended: what is held of one is given back once no walk can ask for it. A walk
 * looks into other threads only where the anchor's own life has not been walked yet, so that
 * nothing before the least of these times is asked for again.
 */
#ifndef INGERO_PATH_PATH_ENDED_H
#define INGERO_PATH_PATH_ENDED_H

#include "lib/path/path.h"

/* A wait's end is recorded when the waiting thread has got a CPU: at most so long after the thread
 * that ended the wait acted. */
#define PATH_ENDED_NS 1000000000

/* Forgets those of p->ended that it can, and looks again when there are enough more. */
void path_ended_forget(struct path *p);

#endif
