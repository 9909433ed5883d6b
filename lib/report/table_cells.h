/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells that tables of counted durations have in common.
 */
#ifndef INGERO_REPORT_TABLE_CELLS_H
#define INGERO_REPORT_TABLE_CELLS_H

#include <stdint.h>

#include "lib/base/fmt.h"
#include "lib/base/table.h"

#define CELL_FEW 100 /* below this many a p99 is the largest of them: quantiles are marked */
#define CELL_FEW_MARK \
	"*" /* "~" marks estimates of calls that were not recorded, and nothing else */

/* A quantile over count durations; in *t. */
const char *cell_quantile(struct fmt_text *t, uint64_t ns, uint64_t count);
/* Three cells. */
void cell_quantiles(struct table *t, uint64_t p50_ns, uint64_t p95_ns, uint64_t p99_ns,
		    uint64_t count);
void cell_errors(struct table *t, uint64_t errors);
/* Of wall time; wall 0: unknown. */
void cell_share(struct table *t, uint64_t ns, double wall_ns);
void cell_lost(struct table *t, uint64_t ns);
/* The same behind a mark: "~" where it is an estimate, else "". */
void cell_errors_about(struct table *t, uint64_t errors, const char *about);
void cell_share_about(struct table *t, uint64_t ns, double wall_ns, const char *about);
void cell_lost_about(struct table *t, uint64_t ns, const char *about);
/* What a row is of, cut in the middle when it has no end; title is empty afterwards. */
void cell_title(struct table *t, struct buf *title);
/* Two cells: a duration before and after; none where it is of no calls. */
void cell_pair(struct table *t, const uint64_t ns[2], const uint64_t count[2]);

/* Below a table: so many rows are not shown. */
void cell_more(struct buf *out, uint64_t left, unsigned columns);
/* The same of something else: "3 processes more (...)". */
void cell_more_of(struct buf *out, uint64_t left, const char *what, const char *plural,
		  unsigned columns);
/* Of two recordings: "before", "after"; and a line that says what one is. */
const char *cell_side_name(unsigned side);
void cell_side(struct buf *out, unsigned side, const char *name, uint64_t events, uint64_t wall_ns,
	       uint64_t lost);

#endif
