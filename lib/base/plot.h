/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes on a terminal: bars, one line of blocks, and a curve of dots several lines high, in ASCII
 * or in blocks and braille of the same number of columns; or as marks (base/marks.h), for who draws
 * them elsewhere. Nothing here prints.
 */
#ifndef INGERO_BASE_PLOT_H
#define INGERO_BASE_PLOT_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/fmt.h"

enum plot_form { PLOT_ASCII, PLOT_BLOCKS, PLOT_MARKS };

/* "[#####-----]": width columns and brackets. In the style, when color. */
void plot_bar(struct buf *out, double fraction, unsigned width, enum plot_form form, bool color,
	      enum fmt_style style);

/* One character per value: from the lowest, which is 0 only, to that of top. top 0: all are lowest.
 */
void plot_spark(struct buf *out, const double *v, unsigned n, double top, enum plot_form form);

/* A curve filled from below, `lines` high (at most PLOT_LINES_MAX), two values in a column in
 * blocks and one in ASCII; each line behind indent spaces, its axis of at most label columns: the
 * top one says what top is, the last one 0. */
#define PLOT_LINES_MAX 16
void plot_curve(struct buf *out, const double *v, unsigned n, double top, const char *top_text,
		unsigned lines, unsigned indent, enum plot_form form);

#endif
