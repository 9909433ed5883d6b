/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a report query's answer, the same for every program that prints it.
 */
#ifndef INGERO_API_REPORT_FROM_ANSWER_H
#define INGERO_API_REPORT_FROM_ANSWER_H

#include "lib/query/report_query.h"
#include "lib/report/report.h"

/* partial: not all of the input could be read; notes: its defects, a line each, of which the report
 * shows the first; NULL or empty: not known. Borrows from both. */
struct report report_from_answer(const struct report_answer *answer, bool partial,
				 const char *notes);

#endif
