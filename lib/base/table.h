/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of cells as aligned text; columns are as wide as their widest cell. Cells are made harmless
 * (fmt_safe), so they may hold text from outside. Memory that ran out shows when the table is put
 * out, not before.
 */
#ifndef INGERO_BASE_TABLE_H
#define INGERO_BASE_TABLE_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/fmt.h"

struct table;

/* headers: one per column, ended by NULL; a header starting with '>' is a column of numbers
 * (right-aligned). */
struct table *table_new(const char *const *headers); /* NULL on OOM */
/* Numbers of a column stand with their decimal points below each other. */
void table_align_decimals(struct table *t);
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The cell in a style (applied only when printed with color). */
void table_cell_styled(struct table *t, enum fmt_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A name that may have no end: cut in its middle to max bytes, or as much as it takes to read
 * differently from all other names of its column. */
void table_cell_long(struct table *t, struct bytes text, size_t max);
/* Appends the table, each line behind indent spaces; out->failed when memory ran out anywhere. */
void table_text(struct buf *out, struct table *t, unsigned indent, bool color);
/* The same for a terminal of so many columns (0: as wide as it takes). A table that does not fit
 * has each row on lines of its own: the first cell, below it the others as "header value", as many
 * to a line as fit. MARKS_COLUMNS: as marks (base/marks.h). */
void table_fold(struct buf *out, struct table *t, unsigned indent, bool color, unsigned columns);
/* The same with one line to a row whatever it takes: columns are left out in that order (their
 * numbers, ended by 0; the first column stays), then names of the first are cut in their middle,
 * and last the last column's text is cut at its end. */
void table_narrow(struct buf *out, struct table *t, unsigned indent, bool color, unsigned columns,
		  const unsigned *leave_out);

void table_free(struct table *t);

#endif
