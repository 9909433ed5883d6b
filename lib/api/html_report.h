/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report in HTML as a format of ingero-export: analyzes the stream as ingero-explain does,
 * counts it as ingero-stat does, and writes the page at the end.
 */
#ifndef INGERO_API_HTML_REPORT_H
#define INGERO_API_HTML_REPORT_H

#include "lib/export/format.h"
#include "lib/input/input.h"
#include "lib/filter/filter.h"

/* All borrowed. */
struct html_page_format_options {
	struct filter *select;	   /* what is shown; the analysis is of everything */
	const struct input *input; /* of the items, for its defects; set before the end */
	unsigned top;		   /* causes shown in full, 0: all */
};

/* To be opened with export_options.page. */
extern const struct export_format html_page_format;

#endif
