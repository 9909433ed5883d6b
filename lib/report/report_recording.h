/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the report says of the recording itself: calls that may be missing from it, and what
 * recording took from the programs.
 */
#ifndef INGERO_REPORT_REPORT_RECORDING_H
#define INGERO_REPORT_REPORT_RECORDING_H

#include "lib/base/json.h"
#include "lib/report/report.h"
#include "lib/event/tier.h"

/* Whether calls of a process that is shown may be missing from the time recorded: then nothing
 * follows from that none is there. Not those of a process that was there before, and had its probes
 * soon after the recording began: *before_ns of it. */
bool report_has_uncovered(const struct report *r, double *before_ns);

/* Whether some of this one's, which has a "pid", may be missing. */
bool report_is_uncovered(const struct report *r, struct json process);

/* A line for each such process, indented; of many, some. */
void report_uncovered_lines(struct buf *out, const struct report *r, const char *before);

/* Before what a chain lost and counts: "~", an estimate for all of the time; ">=", a lower bound;
 * else "". */
const char *report_about(const struct finding *c);

/* Whether calls of some tier were not recorded for a part of the time. */
bool report_has_paused(const struct report *r);
/* Whether calls of that one were not. */
bool report_has_paused_tier(const struct report *r, enum op_tier tier);
/* Whether so few calls of some tier were that what they would show was not looked for. */
bool report_has_blind_tier(const struct report *r);
/* A line for each such tier and machine: "kernel launches were recorded 24 % of the time ...". */
void report_paused_lines(struct buf *out, const struct report *r, const char *before);

/* "Recorder: 12 ms (0.4 %) of these programs: traps …"; nothing where it is not known. */
void report_recorder_line(struct buf *out, const struct report *r);

#endif
