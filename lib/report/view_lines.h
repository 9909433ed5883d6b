/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that the sections of ingero-stat have in common: a heading, a figure with its bar and its
 * course over time.
 */
#ifndef INGERO_REPORT_VIEW_LINES_H
#define INGERO_REPORT_VIEW_LINES_H

#include "lib/base/buf.h"
#include "lib/report/style.h"
#include "lib/event/ops.h"
#include "lib/event/record.h"
#include "lib/event/section_rows.h"
#include "lib/stat/series.h"
#include "lib/world/world.h"

#define VIEW_SPARK 32 /* columns */

/* An empty line, and the title. */
void view_heading(struct buf *out, const struct report_text_style *st, const char *title);

/* The same of figures that calls of these tiers (1 << enum op_tier, or-ed) are counted in as they
 * were recorded: where they were in windows, it says so. */
void view_heading_counted(struct buf *out, const struct report_text_style *st, const char *title,
			  const struct ops_summary *s, unsigned tiers);
/* Whether calls of any of these tiers were recorded in windows. */
bool view_in_windows(const struct ops_summary *s, unsigned tiers);

/* "  label      [####------] ": fraction < 0: no bar. low, high: from where on it is yellow, red.
 * The caller goes on with the text, and ends the line with view_course. */
void view_bar(struct buf *out, const struct report_text_style *st, const char *label,
	      double fraction, double low, double high);
/* Ends a line: the course of a metric as a line of blocks, where there are several values; top 0:
 * of its own largest. */
void view_course(struct buf *out, const struct report_text_style *st, const struct view_metric *m,
		 double top);

/* The metric of a subject; NULL: it was not sampled. */
const struct view_metric *view_find(const struct view *v, enum view_scope scope, uint32_t node,
				    uint64_t subject, enum metric_id metric);
/* A value as a number of bytes: none where it is none. */
uint64_t view_bytes(double value);
double view_mean(const struct view_metric *m);
/* Growth of a counter per second, over all time that is known; 0 where there is one sample only. */
double view_growth(const struct view_metric *m);

/* " on NODE" (world id), where the recording is of several machines. */
void view_on(struct buf *out, const struct world *w, uint32_t node);
/* "python3 (pid 4821)", and on which machine, as above. */
void view_process(struct buf *out, const struct world *w, uint32_t process);

#endif
