/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fleet answered, for people and for programs. Text of other machines is made harmless.
 */
#ifndef INGERO_FLEET_FLEET_TEXT_H
#define INGERO_FLEET_FLEET_TEXT_H

#include "lib/archive/ask.h"
#include "lib/fleet/fleet.h"

/* columns: of the terminal; 0: as wide as it takes. Quantiles that are not more than known stand
 * behind "<=". */
void fleet_ops_text(struct buf *out, const struct fleet_ops *o, bool color, unsigned columns);
/* {"nodes", "ops": [{operation, source, count, errors, total_ns, p50_ns, …, approximate,
 * nodes}]} */
void fleet_ops_json(struct buf *out, const struct fleet_ops *o);

/* top: at most so many; 0: all. */
void fleet_chains_text(struct buf *out, const struct fleet *f, struct json chains, size_t top,
		       bool color);

/* Rows as SQL's answers are given out. */
int fleet_rows_write(const struct fleet_rows *r, struct archive_answer *to, struct err *e);

#endif
