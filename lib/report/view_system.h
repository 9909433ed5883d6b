/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section of the machine: CPU, memory, swap, load and pressure, one line each, for every
 * machine that was sampled.
 */
#ifndef INGERO_REPORT_VIEW_SYSTEM_H
#define INGERO_REPORT_VIEW_SYSTEM_H

#include "lib/report/view_lines.h"
#include "lib/event/ops.h"

/* False: nothing was sampled, and nothing is said. */
bool view_system_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st);

#endif
