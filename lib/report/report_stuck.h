/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line about a program that waits without an end.
 */
#ifndef INGERO_REPORT_REPORT_STUCK_H
#define INGERO_REPORT_REPORT_STUCK_H

#include "lib/base/buf.h"
#include "lib/model/paths.h"

/* "python3 (pid 7) made no step in the last 7.74 s: it waits to the end ..." if the track's wait at
 * the end is a hang, with who else waits since then; without a full stop. differs: it is a rank
 * that waits for ranks which entered other collectives than it, whatever its wait looks like.
 * False: it is none, and nothing was written. */
bool report_stuck_put(struct buf *out, const struct paths *all, const struct paths_track *track,
		      bool differs);

#endif
