/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of ingero-stat's JSON value about what lives from one call to another: memory, graphs,
 * communicators.
 */
#ifndef INGERO_REPORT_VIEW_JSON_LIVES_H
#define INGERO_REPORT_VIEW_JSON_LIVES_H

#include "lib/base/jsonw.h"
#include "lib/event/ops.h"
#include "lib/event/section_rows.h"
#include "lib/world/world.h"

void view_json_memory(struct jsonw *j, const struct world *w, const struct ops_summary *s);
void view_json_graphs(struct jsonw *j, const struct world *w, const struct view *v);
void view_json_comms(struct jsonw *j, const struct world *w, const struct view *v);

#endif
