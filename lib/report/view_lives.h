/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of what lives between calls: memory of devices by the lines that hold it, executable
 * graphs, NCCL communicators. All return false where nothing was recorded, and say nothing then.
 */
#ifndef INGERO_REPORT_VIEW_LIVES_H
#define INGERO_REPORT_VIEW_LIVES_H

#include "lib/report/view_lines.h"
#include "lib/event/ops.h"

bool view_memory_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st);
/* Below the table of the calls: heading false. */
bool view_graphs_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      const struct report_text_style *st, bool heading);
bool view_comms_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		     const struct report_text_style *st, bool heading);

#endif
