/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of what threads wait for outside the CPU: block devices with the files, and sockets.
 * All return false where nothing was recorded, and say nothing then.
 */
#ifndef INGERO_REPORT_VIEW_IO_H
#define INGERO_REPORT_VIEW_IO_H

#include "lib/report/view_lines.h"
#include "lib/event/ops.h"

bool view_io_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		  const struct report_text_style *st);
bool view_net_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct report_text_style *st);

#endif
