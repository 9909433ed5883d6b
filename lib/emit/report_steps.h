/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the report about steps: how many, how long, what each chain costs a step, and the slow ones. The
 * data is the "steps" member of the analysis record.
 */
#ifndef INGERO_EMIT_REPORT_STEPS_H
#define INGERO_EMIT_REPORT_STEPS_H

#include "lib/emit/report.h"

/* Nothing where no thread repeats anything. */
void report_steps_text(struct buf *out, const struct report *r, bool color);

#endif
