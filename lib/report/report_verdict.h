/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the report says when no cause was found, and what it covers.
 */
#ifndef INGERO_REPORT_REPORT_VERDICT_H
#define INGERO_REPORT_REPORT_VERDICT_H

#include "lib/report/report.h"

/* When nothing was found: what that means here. */
void report_verdict_none(struct buf *out, const struct report *r);

/* First of all, where no recorded process had a CUDA library: that it is so. */
void report_verdict_no_library(struct buf *out, const struct report *r);

/* Whether that nothing was found says that nothing is wrong: all that was asked for was looked at,
 * and there was something to see. */
bool report_healthy(const struct report *r);

/* How many of the processes that are shown the analysis knows, and the calls they made. */
size_t report_processes(const struct report *r, double *calls);

/* Whether there are processes, of those shown, and none of them made a call. */
bool report_no_calls(const struct report *r);

/* Behind causes: that, for all of them, nobody made a call. */
void report_verdict_calls(struct buf *out, const struct report *r);

/* Events, time, losses; behind an empty line. */
void report_coverage(struct buf *out, const struct report *r);

#endif
