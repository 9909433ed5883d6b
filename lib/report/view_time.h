/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section of time: where that of the threads went that make calls; and the plots of rates and
 * latencies.
 */
#ifndef INGERO_REPORT_VIEW_TIME_H
#define INGERO_REPORT_VIEW_TIME_H

#include "lib/base/fmt.h"
#include "lib/report/view_lines.h"
#include "lib/event/part.h"
#include "lib/event/ops.h"

/* All false where there is nothing, and nothing is said then. */
bool view_time_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		    const struct report_text_style *st);
bool view_rates_text(struct buf *out, const struct ops_summary *s,
		     const struct report_text_style *st);
bool view_latency_text(struct buf *out, const struct ops_summary *s,
		       const struct report_text_style *st);

/* The colour of a state of time: what the host takes, own code, the device, what a thread waits for
 * by itself. */
enum fmt_style view_part_style(enum part part);

#endif
