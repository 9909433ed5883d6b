/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would have been without a finding, and without all that took from the steps of a thread.
 */
#ifndef INGERO_REPORT_REPORT_WITHOUT_H
#define INGERO_REPORT_REPORT_WITHOUT_H

#include "lib/report/report.h"

/* A line among those of a finding, where something is known. */
void report_without(struct buf *out, const struct report *r, const struct finding *c, bool color);

/* A paragraph, where several findings of a program promise shorter steps: what they promise does
 * not add up. */
void report_without_all(struct buf *out, const struct report *r);

#endif
