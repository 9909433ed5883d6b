/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of a recording for people: the same values as report/ops_json.h.
 */
#ifndef INGERO_REPORT_OPS_TEXT_H
#define INGERO_REPORT_OPS_TEXT_H

#include "lib/base/buf.h"
#include "lib/report/style.h"
#include "lib/event/ops.h"
#include "lib/event/section_rows.h"
#include "lib/world/world.h"

/* All of it, at the end of the recording. Sections it has nothing of are named in one line. */
void ops_text(struct buf *out, const struct world *w, const struct ops_summary *s,
	      const struct report_text_style *st);

/* One section; false: the recording has nothing of it. *few: a quantile was marked. */
bool ops_section_text(struct buf *out, const struct world *w, const struct ops_summary *s,
		      enum view_section which, const struct report_text_style *st, bool *few);

#endif
