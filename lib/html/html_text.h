/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people as HTML: what the sections of the reports write for a terminal, with marks
 * (base/marks.h) for tables, bars and curves. Whatever stands in the text becomes text: only what
 * is made here is markup, and out of marks come nothing but numbers. Long texts and tables are cut,
 * and it is said that they were.
 */
#ifndef INGERO_HTML_HTML_TEXT_H
#define INGERO_HTML_HTML_TEXT_H

#include "lib/base/buf.h"
#include "lib/base/fmt.h"

#define HTML_LINE_MOST 1000  /* bytes of one line or cell */
#define HTML_ROWS_MOST 200   /* of one table */
#define HTML_PART_MOST 60000 /* bytes of text in one part */

/* Harmless as text and within a quoted attribute; at most `most` bytes of it, 0: HTML_LINE_MOST. */
void html_escape(struct buf *out, struct bytes text, size_t most);

/* Writes text with marks as blocks: <h3>, <p>, <table>, rows with bars and curves, commands to
 * copy. */
void html_blocks(struct buf *out, struct bytes text);

/* A bar, of fraction; a curve from 0 to top (0: of its own largest). Take the place of a word. */
void html_bar(struct buf *out, double fraction, enum fmt_style style);
void html_curve(struct buf *out, const double *v, unsigned n, double top);

#endif
