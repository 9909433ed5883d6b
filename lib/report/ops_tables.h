/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of operations, of kernels, of errors: what was counted, as text.
 */
#ifndef INGERO_REPORT_OPS_TABLES_H
#define INGERO_REPORT_OPS_TABLES_H

#include "lib/base/buf.h"
#include "lib/report/style.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* The operations of one layer ("runtime", "driver", "graph", "nccl", "mark"; NULL: all else, the
 * host) under their heading; false: there are none. *few: a quantile was marked. */
bool ops_layer_table(struct buf *out, const struct ops_summary *s, const struct world *w,
		     const char *layer, const struct report_text_style *st, bool *few);

/* The same with one line to an operation, however narrow the terminal is; the first line names the
 * layer. Nothing where there are none. */
void ops_layer_brief(struct buf *out, const struct ops_summary *s, const struct world *w,
		     const char *layer, const struct report_text_style *st);

/* Most time first, of each launching op; only where names are known: handles say nothing to a
 * person. False: none are. */
bool ops_kernel_table(struct buf *out, const struct ops_summary *s, const struct world *w,
		      const struct report_text_style *st);

/* Which codes calls returned; false: all went well. */
bool ops_error_lines(struct buf *out, const struct ops_summary *s, const struct world *w,
		     const struct report_text_style *st);

#endif
