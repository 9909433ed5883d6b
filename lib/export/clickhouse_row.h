/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for a column store, all tables in one stream: a line of JSON each, its key "row" says which
 * table it is for (formats/clickhouse/). Times are UTC in nanoseconds, or of the recording's clock
 * where it does not say what time it was.
 */
#ifndef INGERO_EXPORT_CLICKHOUSE_ROW_H
#define INGERO_EXPORT_CLICKHOUSE_ROW_H

#include "lib/base/jsonw.h"
#include "lib/export/comm_ids.h"
#include "lib/export/format.h"
#include "lib/export/process_place.h"
#include "lib/world/site_frames.h"

struct clickhouse {
	struct export_ctx em;
	struct process_place placed;
	struct comm_ids comms;
	struct site_frames sites;
};

/* Begins a line: {"row":..,"node":..,"job":..,"rank":..; and ends it. */
void clickhouse_begin(struct jsonw *j, const struct clickhouse *c, const char *row,
		      struct bytes node, const struct process_place_row *at);
void clickhouse_end(struct jsonw *j);
/* Of a time on the recording's clock. */
int64_t clickhouse_time(const struct clickhouse *c, int64_t ns);

#endif
