/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of a recording's ops for people: the same values as emit/ops_json.h.
 */
#ifndef INGERO_EMIT_OPS_TEXT_H
#define INGERO_EMIT_OPS_TEXT_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/event/ops.h"
#include "lib/world/world.h"

/* top: rows shown of the answer's by, 0 all; columns: of the terminal, 0 none: tables fold to it. over: the stream has ended; until then the coverage stands at the top, because what is drawn over is
 * cut at the bottom of the screen. */
void ops_text(struct buf *out, const struct world *w, const struct ops_summary *s, bool over,
	      unsigned top, bool color, unsigned columns);

#endif
