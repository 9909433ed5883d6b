/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of ingero-stat's JSON value that several of its sections have.
 */
#ifndef INGERO_REPORT_VIEW_JSON_PARTS_H
#define INGERO_REPORT_VIEW_JSON_PARTS_H

#include "lib/base/jsonw.h"
#include "lib/event/ops.h"
#include "lib/event/record.h"
#include "lib/stat/series.h"
#include "lib/world/world.h"

/* What a counter grew; of a gauge null. */
void view_json_grew(struct jsonw *j, const struct metric_def *def, double grew);
/* What there was of what was counted; nothing where all of it was recorded. */
void view_json_estimate(struct jsonw *j, uint64_t counted, const struct estimate *all);
/* A block device, "major:minor". */
void view_json_device(struct jsonw *j, uint64_t device);
/* "pid" and "node" of a process; null where it is not known. */
void view_json_process(struct jsonw *j, const struct world *w, uint32_t process);
/* A string of the world, or null. */
void view_json_text(struct jsonw *j, const struct world *w, const char *key, uint32_t string);
/* UTC, or null; beside it nanoseconds since the time looked at began. */
void view_json_when(struct jsonw *j, const struct ops_summary *s, int64_t ns);

/* Counts of values, and (sums) their means, of equal spans. */
void view_json_series(struct jsonw *j, const struct ops_summary *s, const struct series *x,
		      bool sums);

#endif
