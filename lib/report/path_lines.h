/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says of a phase beside its table, a line each: single stretches of time that are
 * slow by themselves (lib/tracks/single_stall.h), "250 ms at once 1.29 s after the start: on the
 * CPU in cudaLaunchKernel called from launch (run.py:7)", and notes, such as which CPUs threads are
 * bound to.
 */
#ifndef INGERO_REPORT_PATH_LINES_H
#define INGERO_REPORT_PATH_LINES_H

#include "lib/report/report.h"
#include "lib/model/paths.h"

#define ONCE_SHOWN 3 /* of a phase: the longest */

/* Puts them into best, longest first. How many there are, at most ONCE_SHOWN. */
unsigned once_lines_find(const struct paths_phase *phase,
			 const struct paths_cause *best[ONCE_SHOWN]);

/* One of them, without a full stop. */
void once_lines_print(struct buf *out, const struct paths_cause *c);

/* What is known beside the path: a line each, and one for its command. phase NULL: none. */
void note_lines_put(struct buf *out, const struct paths_phase *phase);

/* All of a phase, a line each; phase NULL: none. */
void once_lines_put(struct buf *out, const struct paths_phase *phase);

/* A paragraph for each program without steps that has such stretches, or notes that matter. */
void path_lines_stepless(struct buf *out, const struct report *r, bool color);

#endif
