/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the report about calls that returned an error. An error is no stall: it stands among
 * the causes only when the host took time, whatever the call returned.
 */
#ifndef INGERO_REPORT_REPORT_FAILURES_H
#define INGERO_REPORT_REPORT_FAILURES_H

#include "lib/base/json.h"
#include "lib/report/report.h"

/* Nothing when no call failed. */
void report_failures_text(struct buf *out, const struct report *r, bool color);

/* Array of rows, and how many calls failed in all, as -p selects. */
struct json report_failures_json(const struct report *r, uint64_t *count);

#endif
