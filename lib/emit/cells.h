/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells that tables of counted durations have in common.
 */
#ifndef INGERO_EMIT_CELLS_H
#define INGERO_EMIT_CELLS_H

#include <stdint.h>

#include "lib/base/human.h"
#include "lib/base/table.h"

#define CELL_FEW 100 /* below this many a p99 is the largest of them: quantiles are marked */

/* A quantile over count durations; in *t. */
const char *cell_quantile(struct human_text *t, uint64_t ns, uint64_t count);
/* Three cells. */
void cell_quantiles(struct table *t, uint64_t p50_ns, uint64_t p95_ns, uint64_t p99_ns,
		    uint64_t count);
void cell_errors(struct table *t, uint64_t errors);
/* Of wall time; wall 0: unknown. */
void cell_share(struct table *t, uint64_t ns, double wall_ns);
void cell_lost(struct table *t, uint64_t ns);

#endif
