/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of steps in the text report: where the time of a step goes, by line of the loop.
 */
#ifndef INGERO_REPORT_REPORT_PATH_H
#define INGERO_REPORT_REPORT_PATH_H

#include "lib/report/report.h"

/* The lines of each program's step, and its start and end. */
void report_path_text(struct buf *out, const struct report *r, bool color);

#endif
