/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the report about steps: how many, how long, what each chain costs a step, and the slow ones. The
 * data is the "steps" member of the analysis record.
 */
#ifndef INGERO_EMIT_REPORT_STEPS_H
#define INGERO_EMIT_REPORT_STEPS_H

#include "lib/base/json.h"
#include "lib/emit/report.h"

/* Nothing where no thread repeats anything. */
void report_steps_text(struct buf *out, const struct report *r, bool color);

/* "1,810"; where steps were seen in windows, "~5,430, 1,810 of them recorded, in 3 windows". s: one of "steps". */
void report_steps_count(struct buf *out, struct json s);
/* Steps from the first to the last, those between windows too. */
double report_steps_made(struct json s);
/* Says, behind such blanks, that a longer loop may be missing; false: none can be. */
bool report_steps_unseen(struct buf *out, struct json s, const char *before);

#endif
