/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of ingero-stat's JSON value that are about time: where it went, how many events when,
 * how long calls took when.
 */
#ifndef INGERO_REPORT_VIEW_JSON_TIME_H
#define INGERO_REPORT_VIEW_JSON_TIME_H

#include "lib/base/jsonw.h"
#include "lib/event/ops.h"
#include "lib/event/section_rows.h"
#include "lib/world/world.h"

void view_json_times(struct jsonw *j, const struct world *w, const struct view *v);
void view_json_states(struct jsonw *j, const struct ops_summary *s);
void view_json_rates(struct jsonw *j, const struct ops_summary *s);
void view_json_courses(struct jsonw *j, const struct ops_summary *s);

#endif
