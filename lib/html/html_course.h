/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of lost time: over the time of the recording how much the host took, by state, and
 * below it on the same axis from when to when each cause was at work, the intervals that show it
 * best, and where events are missing.
 */
#ifndef INGERO_HTML_HTML_COURSE_H
#define INGERO_HTML_HTML_COURSE_H

#include "lib/html/html_page.h"

#define HTML_LANES 20

/* Nothing where there is neither lost time nor a cause. */
void html_course(struct buf *out, const struct html_page *p);

#endif
