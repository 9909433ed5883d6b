/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cause is called in a sentence: "waits for loader (pid 4711), on the CPU in decode
 * (data.py:41)". One verb phrase, of which the anchor is the subject.
 */
#ifndef INGERO_TRACKS_REASON_H
#define INGERO_TRACKS_REASON_H

#include "lib/base/buf.h"
#include "lib/tracks/causes.h"

/* Appends the phrase for a cause, with the line that has most of it. */
void reason_print(struct buf *out, const struct track_names *names, const struct path_cause *c);

/* The same as a clause about the past: "it waited for loader (pid 4711), which was on the CPU in
 * decode (data.py:41)", "hog (pid 12) had the CPU". */
void reason_print_past(struct buf *out, const struct track_names *names,
		       const struct path_cause *c);

/* Appends how it polls: " every 2.1 ms, about 9 times in a row". */
void reason_print_poll(struct buf *out, const struct poll *poll);

/* Appends who the culprit is: "loader (pid 4711) and 3 more", "disk 254:0"; nothing where it is the
 * anchor itself. */
void reason_print_culprit(struct buf *out, const struct track_names *names,
			  const struct path_cause *c);

#endif
