/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of what threads wait for outside the CPU: block devices with the files, and sockets. All return false
 * where nothing was recorded, and say nothing then.
 */
#ifndef INGERO_EMIT_VIEW_IO_H
#define INGERO_EMIT_VIEW_IO_H

#include "lib/emit/view_lines.h"
#include "lib/event/ops.h"

bool view_io_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		  const struct emit_style *st);
bool view_net_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct emit_style *st);

#endif
