/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section of GPUs as their driver tells of them: use, memory, clocks and what held them down,
 * power, temperature, link, errors; and what each process has of them.
 */
#ifndef INGERO_REPORT_VIEW_GPU_H
#define INGERO_REPORT_VIEW_GPU_H

#include "lib/report/view_lines.h"
#include "lib/event/ops.h"

/* False: nothing was sampled, and nothing is said. */
bool view_gpu_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		   const struct report_text_style *st);

#endif
