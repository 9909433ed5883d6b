/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How text for people looks: what the terminal can do, and how much of it is wanted.
 */
#ifndef INGERO_REPORT_STYLE_H
#define INGERO_REPORT_STYLE_H

#include <stdbool.h>

#include "lib/base/plot.h"

struct report_text_style {
	bool color;
	enum plot_form form; /* of bars and curves */
	unsigned columns;    /* of the terminal, 0 as many as it takes; MARKS_COLUMNS: marks */
	unsigned top;	     /* rows of tables that can be long, 0 all */
	unsigned sections;   /* of VIEW_BIT, event/section_rows.h */
	bool asked;	     /* they were asked for by name: what is not there is said of each */
	bool plot;	     /* rates and latencies as plots of several lines */
};

#endif
