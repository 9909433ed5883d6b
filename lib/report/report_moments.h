/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The intervals that show a chain best, one a line: when, in which layer, what.
 */
#ifndef INGERO_REPORT_REPORT_MOMENTS_H
#define INGERO_REPORT_REPORT_MOMENTS_H

#include "lib/report/report.h"

/* Nothing where the chain has none. */
void report_moments(struct buf *out, const struct report *r, const struct finding *c, bool color);

#endif
