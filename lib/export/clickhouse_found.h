/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an analysis found, as rows: causes, where the time of processes went, loops and their slow
 * steps.
 */
#ifndef INGERO_EXPORT_CLICKHOUSE_FOUND_H
#define INGERO_EXPORT_CLICKHOUSE_FOUND_H

#include "lib/export/clickhouse_row.h"
#include "lib/event/record.h"

/* A body that is not JSON is passed over. */
void clickhouse_cause(const struct clickhouse *c, const struct rec_CHAIN *r);
void clickhouse_analysis(const struct clickhouse *c, const struct rec_ANALYSIS *r);

#endif
