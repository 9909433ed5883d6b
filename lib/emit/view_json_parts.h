/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of ingero-stat's JSON value, for the files that write them: time and rates (view_json_time.c), and what lives from one
 * call to another (view_json_lives.c).
 */
#ifndef INGERO_EMIT_VIEW_JSON_PARTS_H
#define INGERO_EMIT_VIEW_JSON_PARTS_H

#include "lib/emit/view_json.h"
#include "lib/event/view.h"
#include "lib/stat/series.h"

/* Counts of values, and (sums) their means, of equal spans. */
void view_json_series(struct jsonw *j, const struct ops_summary *s, const struct series *x,
		      bool sums);

void view_json_times(struct jsonw *j, const struct world *w, const struct view *v);
void view_json_states(struct jsonw *j, const struct ops_summary *s);
void view_json_rates(struct jsonw *j, const struct ops_summary *s);
void view_json_courses(struct jsonw *j, const struct ops_summary *s);

void view_json_memory(struct jsonw *j, const struct world *w, const struct ops_summary *s);
void view_json_graphs(struct jsonw *j, const struct world *w, const struct view *v);
void view_json_comms(struct jsonw *j, const struct world *w, const struct view *v);

#endif
