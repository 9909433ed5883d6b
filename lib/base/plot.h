/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes on a terminal: bars, one line of blocks, and a curve of dots several lines high. With utf8 in blocks and
 * braille, else in ASCII; both have the same number of columns. Nothing here prints.
 */
#ifndef INGERO_BASE_PLOT_H
#define INGERO_BASE_PLOT_H

#include <stdbool.h>

#include "lib/base/buf.h"
#include "lib/base/human.h"

/* "[#####-----]": width columns and brackets. In the style, when color. */
void plot_bar(struct buf *out, double fraction, unsigned width, bool utf8, bool color,
	      enum human_style style);

/* One character per value: from the lowest, which is 0 only, to that of top. top 0: all are lowest. */
void plot_spark(struct buf *out, const double *v, unsigned n, double top, bool utf8);

/* A curve filled from below, `lines` high (at most PLOT_LINES_MAX), two values in a column with utf8 and one without; each
 * line behind indent spaces, its axis of at most label columns: the top one says what top is, the last one 0. */
#define PLOT_LINES_MAX 16
void plot_curve(struct buf *out, const double *v, unsigned n, double top, const char *top_text,
		unsigned lines, unsigned indent, bool utf8);

#endif
