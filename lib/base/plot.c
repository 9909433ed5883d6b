/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws bars, sparklines and curves as text. A value other than 0 is never drawn as nothing: the
 * first thing to see is that something happened.
 */
#include "lib/base/plot.h"

#include <string.h>

#include "lib/base/marks.h"
#include "lib/base/utf8.h"

#define BLOCK_LOWEST 0x2581 /* one eighth; the seven behind it rise to a full block */
#define BLOCK_FULL   0x2588
#define BLOCK_LIGHT  0x2591
#define BRAILLE	     0x2800
#define LEVELS	     8
#define AXIS_CHARS   8

/* Eighths from 0 (nothing) to n. */
static unsigned level_of(double value, double top, unsigned n)
{
	unsigned at;

	if (!(value > 0) || !(top > 0))
		return 0;
	if (value >= top)
		return n;
	at = (unsigned)(value / top * n + 0.5);
	return at ? at : 1;
}

static void curve_mark(struct buf *out, const double *v, unsigned n, double top)
{
	buf_printf(out, "%cc%.9g;", MARK_PLOT, top);
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, "%s%.9g", i ? "," : "", v[i]);
	buf_putc(out, MARK_PLOT_END);
}

void plot_bar(struct buf *out, double fraction, unsigned width, enum plot_form form, bool color,
	      enum fmt_style style)
{
	bool utf8 = form == PLOT_BLOCKS;
	unsigned full = level_of(fraction, 1, width);
	struct buf bar = { 0 };

	if (form == PLOT_MARKS) {
		buf_printf(out, "%cb%.6f;%u%c", MARK_PLOT, fraction, style, MARK_PLOT_END);
		return;
	}
	for (unsigned i = 0; i < full; i++) {
		if (utf8)
			utf8_put(&bar, BLOCK_FULL);
		else
			buf_putc(&bar, '#');
	}
	buf_putc(out, '[');
	if (full)
		fmt_styled(out, color, style, buf_text(&bar));
	for (unsigned i = full; i < width; i++) {
		if (utf8)
			utf8_put(out, BLOCK_LIGHT);
		else
			buf_putc(out, '-');
	}
	buf_putc(out, ']');
	out->failed |= bar.failed;
	buf_free(&bar);
}

void plot_spark(struct buf *out, const double *v, unsigned n, double top, enum plot_form form)
{
	static const char ascii[] = "_.,:-=+*#";

	if (form == PLOT_MARKS) {
		curve_mark(out, v, n, top);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned at = level_of(v[i], top, LEVELS);

		if (form == PLOT_ASCII)
			buf_putc(out, ascii[at]);
		else if (at == 0)
			buf_putc(out, '_');
		else
			utf8_put(out, BLOCK_LOWEST + at - 1);
	}
}

/* Dots of a braille character that are set when `dots` of the four rows are filled from below, left
 * and right. */
static unsigned braille_dots(unsigned left, unsigned right)
{
	static const unsigned lefts[5] = { 0, 0x40, 0x44, 0x46, 0x47 };
	static const unsigned rights[5] = { 0, 0x80, 0xa0, 0xb0, 0xb8 };

	return lefts[left] | rights[right];
}

/* How many of the rows of this line, counted from the top, are filled. */
static unsigned rows_in(unsigned height, unsigned line, unsigned lines, unsigned rows)
{
	unsigned below = (lines - 1 - line) * rows;

	return height <= below ? 0 : height - below > rows ? rows : height - below;
}

void plot_curve(struct buf *out, const double *v, unsigned n, double top, const char *top_text,
		unsigned lines, unsigned indent, enum plot_form form)
{
	bool utf8 = form == PLOT_BLOCKS;
	unsigned rows = utf8 ? 4 : 2;

	if (form == PLOT_MARKS) {
		curve_mark(out, v, n, top);
		buf_putc(out, '\n');
		return;
	}
	lines = lines > PLOT_LINES_MAX ? PLOT_LINES_MAX : lines;
	for (unsigned line = 0; line < lines; line++) {
		const char *axis = line == 0 ? top_text : line + 1 == lines ? "0" : "";

		buf_printf(out, "%*s%*s |", (int)indent, "", AXIS_CHARS, axis);
		for (unsigned i = 0; i < n; i += utf8 ? 2 : 1) {
			unsigned a = rows_in(level_of(v[i], top, lines * rows), line, lines, rows);
			unsigned b = utf8 && i + 1 < n
					     ? rows_in(level_of(v[i + 1], top, lines * rows), line,
						       lines, rows)
					     : 0;

			if (utf8)
				utf8_put(out, BRAILLE + braille_dots(a, b));
			else
				buf_putc(out, a == 0 ? ' ' : a == 1 ? '.' : ':');
		}
		buf_putc(out, '\n');
	}
}
