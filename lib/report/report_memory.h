/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the report about memory of devices: how much each process held at most and at the
 * end, and which call sites held it. The data is the "memory" member of the analysis record.
 */
#ifndef INGERO_REPORT_REPORT_MEMORY_H
#define INGERO_REPORT_REPORT_MEMORY_H

#include "lib/report/report.h"

/* Nothing when no process allocated any. */
void report_memory_text(struct buf *out, const struct report *r, bool color);

#endif
