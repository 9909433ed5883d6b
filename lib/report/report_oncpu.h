/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the report about where threads used the CPU, by samples, in the steps where there are
 * some. It explains what no host cause does: the program's own code.
 */
#ifndef INGERO_REPORT_REPORT_ONCPU_H
#define INGERO_REPORT_REPORT_ONCPU_H

#include "lib/base/json.h"
#include "lib/report/report.h"

/* Nothing when there are no samples. */
void report_oncpu_text(struct buf *out, const struct report *r, bool color);

/* One sentence about the thread that used most, behind a verdict; nothing when there are too few
 * samples to say one. */
void report_oncpu_sentence(struct buf *out, const struct report *r);

/* An object, or null when there are no samples. */
struct json report_oncpu_json(const struct report *r);

#endif
