/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the figures cover: events, losses, what was left out and could not be traced.
 */
#ifndef INGERO_REPORT_OPS_COVERAGE_H
#define INGERO_REPORT_OPS_COVERAGE_H

#include "lib/base/buf.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* over: the recording is at its end; few: a quantile was marked in what stands above. */
void ops_coverage_lines(struct buf *out, const struct world *w, const struct ops_summary *s,
			bool over, bool few);

/* Of it the one line that says how much it is. */
void ops_coverage_line(struct buf *out, const struct ops_summary *s, bool over);

#endif
