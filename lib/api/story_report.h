/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a story that was asked: what of it is the same whoever prints it.
 */
#ifndef INGERO_API_STORY_REPORT_H
#define INGERO_API_STORY_REPORT_H

#include "lib/query/report_query.h"
#include "lib/report/report.h"

/* partial: not all of the input could be read; notes: its defects, a line each, of which the report
 * shows the first; NULL or empty: not known. Borrows from both. */
struct report story_report(const struct report_query *told, bool partial, const char *notes);

#endif
