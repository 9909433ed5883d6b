/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of a recording as members of ingero-stat's JSON value: those that were asked for,
 * whole.
 */
#ifndef INGERO_REPORT_VIEW_JSON_H
#define INGERO_REPORT_VIEW_JSON_H

#include "lib/base/jsonw.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* Members of the value's object. */
void view_json(struct jsonw *j, const struct world *w, const struct ops_summary *s);

#endif
