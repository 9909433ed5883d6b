/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line about a program without steps: where all of its time went, by its critical path.
 */
#ifndef INGERO_REPORT_STEPLESS_H
#define INGERO_REPORT_STEPLESS_H

#include "lib/report/report.h"
#include "lib/model/paths.h"

/* Outermost calls of the track's process. */
double stepless_count_calls(const struct report *r, const struct paths_track *track);

/* The program without steps that the report is about: the one with most calls. NULL: there is none,
 * or findings are hidden, or something hangs, which the report begins with instead. */
const struct paths_track *stepless_find(const struct report *r);

/* "python3 (pid 7): no steps; 3.00 s: 1.50 s (50.0%) on the CPU in load (a.py:3)", without a full
 * stop. */
void stepless_print(struct buf *out, const struct report *r, const struct paths_track *track);

/* How bad it is: enum finding_severity, of the worst that it loses time to; 0: to nothing. */
unsigned stepless_severity(const struct paths_track *track);

#endif
