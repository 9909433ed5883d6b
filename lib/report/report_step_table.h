/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report seen step by step: for every thread that runs a loop what a step is made of, what it
 * takes on average, and the slow ones with what made them slow. The data is the "steps" member of
 * the analysis record.
 */
#ifndef INGERO_REPORT_REPORT_STEP_TABLE_H
#define INGERO_REPORT_REPORT_STEP_TABLE_H

#include "lib/report/report.h"

void report_view_steps(struct buf *out, const struct report *r, bool color);

#endif
