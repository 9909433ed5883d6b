/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of a recording's ops as one JSON value: formats/stat.schema.json.
 */
#ifndef INGERO_REPORT_OPS_JSON_H
#define INGERO_REPORT_OPS_JSON_H

#include "lib/base/buf.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

void ops_json(struct buf *out, const struct world *w, const struct ops_summary *s,
	      const struct ops_input *in);

#endif
