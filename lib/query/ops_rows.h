/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a summary's rows: as people read them.
 */
#ifndef INGERO_QUERY_OPS_ROWS_H
#define INGERO_QUERY_OPS_ROWS_H

#include "lib/event/ops.h"

/* Rows by layer, most time first; processes by time in calls. */
void ops_rows_sort(struct ops_summary *s);

#endif
