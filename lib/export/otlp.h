/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as OpenTelemetry collectors read them: OTLP/HTTP, JSON.
 */
#ifndef INGERO_EXPORT_OTLP_H
#define INGERO_EXPORT_OTLP_H

#include "lib/export/meters.h"

/* One ExportMetricsServiceRequest, a resource for each machine, on one line without its end; m was
 * settled. */
void otlp_metrics(struct buf *out, struct meters *m);

#endif
