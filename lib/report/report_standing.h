/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that waited, and waited still when recording ended, with their stacks. */
#ifndef INGERO_REPORT_REPORT_STANDING_H
#define INGERO_REPORT_REPORT_STANDING_H

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/report/report.h"

/* Where the threads of those processes stand that did nearly nothing else, of those that are shown:
 * an array of {"comm", "pids" (four at most), "processes", "threads", "longest_ns", "part",
 * "frames"}, each place once, the rarest first. *processes: how many stand still. */
struct json report_standing_places(const struct report *r, unsigned *processes);

/* What a place's "part" means for who does not come on. */
const char *report_standing_state(struct bytes part);

/* The same as text; nothing when nobody stands still. */
void report_standing(struct buf *out, const struct report *r);

/* Whether that process (an element of the analysis record's "processes") is one of them. */
bool report_stands(const struct report *r, struct json process);

/* What else shows where a process's threads are. */
void report_standing_commands(struct buf *out, double pid);

#endif
