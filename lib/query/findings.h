/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The causes that a stream says were found in it, one line each, for who shows other things mainly:
 * the newest revision of each, in memory that does not grow with revisions. Who wants more of them
 * asks chains.h.
 */
#ifndef INGERO_QUERY_FINDINGS_H
#define INGERO_QUERY_FINDINGS_H

#include <stdbool.h>

#include "lib/event/ops.h"
#include "lib/event/record.h"

/* Takes CHAIN records, ignores others. False: out of memory. */
bool query_findings_record(struct ops_summary *s, const struct record *rec);
/* Most severe first, then most lost. */
void query_findings_sort(struct ops_summary *s);
void query_findings_free(struct ops_summary *s);

#endif
