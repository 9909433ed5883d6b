/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes on a terminal, character by character: in ASCII and in UTF-8 they are as wide, and nothing
 * that happened is drawn as nothing.
 */
#include "lib/base/plot.h"

#include <string.h>

#include "tests/tap.h"

static const char *bar(double fraction, bool utf8, bool color)
{
	static struct buf b;

	buf_reset(&b);
	plot_bar(&b, fraction, 4, utf8, color, FMT_RED);
	return buf_text(&b);
}

static const char *spark(const double *v, unsigned n, double top, bool utf8)
{
	static struct buf b;

	buf_reset(&b);
	plot_spark(&b, v, n, top, utf8);
	return buf_text(&b);
}

static const char *curve(const double *v, unsigned n, double top, unsigned lines, bool utf8)
{
	static struct buf b;

	buf_reset(&b);
	plot_curve(&b, v, n, top, "9/s", lines, 1, utf8);
	return buf_text(&b);
}

int main(void)
{
	static const double rising[9] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
	static const double few[4] = { 0, 0.001, 4, 8 };
	struct buf wide = { 0 };

	is_str(bar(0, false, false), "[----]", "an empty bar");
	is_str(bar(0.5, false, false), "[##--]", "half a bar");
	is_str(bar(0.01, false, false), "[#---]", "a little is not nothing");
	is_str(bar(1, false, false), "[####]", "a full bar");
	is_str(bar(7, false, false), "[####]", "more than all is all");
	is_str(bar(-1, false, false), "[----]", "less than nothing is nothing");
	is_str(bar(0.0 / 0.0, false, false), "[----]", "no number is nothing");
	is_str(bar(0.5, true, false), "[██░░]", "half a bar in blocks");
	is_str(bar(0.5, false, true), "[\033[31m##\033[0m--]", "in colour, only what is full");
	is_str(bar(0, true, true), "[░░░░]", "an empty one has no colour");

	is_str(spark(rising, 9, 8, false), "_.,:-=+*#", "nine levels in ASCII");
	is_str(spark(rising, 9, 8, true), "_▁▂▃▄▅▆▇█", "nine levels in blocks");
	is_str(spark(few, 4, 8, false), "_.-#", "a little is not nothing");
	is_str(spark(rising, 3, 0, false), "___", "without a largest one all are lowest");
	is_str(spark(rising, 0, 8, true), "", "of nothing nothing");

	is_str(curve(rising, 5, 4, 2, false), "      9/s |   .:\n        0 | .:::\n",
	       "a curve in ASCII, two steps a line");
	is_str(curve(rising, 5, 4, 1, true), "      9/s |⢀⣴⡇\n",
	       "in braille two values a character, four steps a line");
	is_str(curve(few, 1, 8, 2, false), "      9/s | \n        0 | \n", "of 0 nothing");
	plot_curve(&wide, rising, 9, 8, "8/s", 1000, 0, true);
	{
		unsigned lines = 0;

		for (size_t i = 0; i < wide.n; i++)
			lines += wide.p[i] == '\n';
		is_u64(lines, PLOT_LINES_MAX, "no higher than it may be");
	}
	buf_free(&wide);
	return tap_done();
}
