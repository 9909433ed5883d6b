/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says of its unwind tables: how many files have one, what they took, how often a
 * rule had to be searched for, and which files have none. Layers "unwind" of formats/records.def,
 * those of all nodes together.
 */
#ifndef INGERO_REPORT_UNWIND_COVERAGE_H
#define INGERO_REPORT_UNWIND_COVERAGE_H

#include "lib/base/buf.h"
#include "lib/base/jsonw.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

bool unwind_coverage_is(const struct world *w, const struct ops_layer *l);

/* A line; nothing where no tables were made. */
void unwind_coverage_text(struct buf *out, const struct world *w, const struct ops_summary *s);

/* A value: an object, null where no tables were made. */
void unwind_coverage_json(struct jsonw *j, const struct world *w, const struct ops_summary *s);

#endif
