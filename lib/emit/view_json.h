/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of a recording as members of ingero-stat's JSON value: those that were asked for, whole.
 */
#ifndef INGERO_EMIT_VIEW_JSON_H
#define INGERO_EMIT_VIEW_JSON_H

#include "lib/base/jsonw.h"
#include "lib/event/ops.h"
#include "lib/event/record.h"
#include "lib/world/world.h"

/* What a counter grew; of a gauge null. */
void view_json_grew(struct jsonw *j, const struct metric_def *def, double grew);
/* "pid" and "node" of a process; null where it is not known. */
void view_json_process(struct jsonw *j, const struct world *w, uint32_t process);
/* A string of the world, or null. */
void view_json_text(struct jsonw *j, const struct world *w, const char *key, uint32_t string);
/* UTC, or null; beside it nanoseconds since the time looked at began. */
void view_json_when(struct jsonw *j, const struct ops_summary *s, int64_t ns);

/* Members of the value's object. */
void view_json(struct jsonw *j, const struct world *w, const struct ops_summary *s);

#endif
