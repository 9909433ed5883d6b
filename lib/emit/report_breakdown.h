/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of a process's time, as the analysis record has it.
 */
#ifndef INGERO_EMIT_REPORT_BREAKDOWN_H
#define INGERO_EMIT_REPORT_BREAKDOWN_H

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/emit/report.h"

/* p: an element of the analysis's processes. Nothing when it has no time. */
void report_breakdown(struct buf *out, const struct report *r, struct json p, bool color);

/* Whether the analysis says that this was recorded ("host_recorded", "steal_recorded"). */
bool report_recorded(const struct report *r, const char *what);

#endif
