/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as Prometheus reads them.
 */
#ifndef INGERO_EXPORT_PROMETHEUS_H
#define INGERO_EXPORT_PROMETHEUS_H

#include "lib/export/meters.h"

/* Appended to out; m was settled. timed: with the time of each value, which a live scrape does
 * without. */
void prometheus_text(struct buf *out, struct meters *m, bool timed);

#endif
