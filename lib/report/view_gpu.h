/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section of GPUs, from the metrics of their driver: use, memory, clocks and what limited them,
 * power, temperature, link, errors; and the share of each process.
 */
#ifndef INGERO_REPORT_VIEW_GPU_H
#define INGERO_REPORT_VIEW_GPU_H

#include "lib/report/view_lines.h"
#include "lib/event/ops.h"

/* False: nothing was sampled, and nothing is said. */
bool view_gpu_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct report_text_style *st);

#endif
