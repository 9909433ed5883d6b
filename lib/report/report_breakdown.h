/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of a process's time, as the analysis record has it.
 */
#ifndef INGERO_REPORT_REPORT_BREAKDOWN_H
#define INGERO_REPORT_REPORT_BREAKDOWN_H

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/report/report.h"

/* p: an element of the analysis's processes. Nothing when it has no time. */
void report_breakdown(struct buf *out, const struct report *r, struct json p, bool color);

/* The processes that the report is about, at most `most`: those that make calls first, then by
 * time; those that make none only with a hundredth of the longest one's time. Where it was asked
 * for some, they are all there are. */
void report_breakdowns(struct buf *out, const struct report *r, unsigned most, bool color);

/* Whether the analysis says that this was recorded ("host_recorded", "steal_recorded"). */
bool report_recorded(const struct report *r, const char *what);

#endif
