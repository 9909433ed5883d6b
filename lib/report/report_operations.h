/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the report of each process says of the functions it called, and which processes share a GPU
 * (event/op_totals.h).
 */
#ifndef INGERO_REPORT_REPORT_OPERATIONS_H
#define INGERO_REPORT_REPORT_OPERATIONS_H

#include "lib/base/json.h"
#include "lib/report/report.h"

/* The table of one process of the analysis; nothing if it made no calls or they were not
 * counted. */
void report_operations(struct buf *out, const struct report *r, struct json process, bool color);
/* A line for each GPU that several processes made calls on. */
void report_shared_gpus(struct buf *out, const struct report *r);
/* All rows; JSON_NONE: they were not counted. */
struct json report_operations_json(const struct report *r);

#endif
