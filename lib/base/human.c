/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units, styles and safe text. Three significant digits are what a person reads.
 */
#include "lib/base/human.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/base/utf8.h"

struct human_text human_ns(uint64_t ns)
{
	struct human_text out;

	duration_text(out.s, sizeof(out.s), ns);
	return out;
}

struct human_text human_bytes(uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct human_text out;
	double x = (double)bytes;
	int i = -1;

	if (bytes < 1024) {
		snprintf(out.s, sizeof(out.s), "%" PRIu64 " B", bytes);
		return out;
	}
	while (x >= 1023.95 && i < 5) {
		x /= 1024;
		i++;
	}
	if (i < 0) {
		x /= 1024;
		i = 0;
	}
	snprintf(out.s, sizeof(out.s), x < 99.95 ? "%.1f %s" : "%.0f %s", x, names[i]);
	return out;
}

struct human_text human_count(uint64_t n)
{
	struct human_text out;
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), i, k = 0;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out.s[k++] = ',';
		out.s[k++] = digits[i];
	}
	out.s[k] = '\0';
	return out;
}

struct human_text human_percent(double fraction)
{
	struct human_text out;
	double percent = fraction * 100;

	snprintf(out.s, sizeof(out.s), isfinite(percent) ? "%.1f%%" : "-", percent);
	return out;
}

void human_styled(struct buf *out, bool color, enum human_style style, const char *text)
{
	static const char *const codes[] = { "", "1", "2", "31", "32", "33", "34", "36" };

	if (color && style != HUMAN_PLAIN)
		buf_printf(out, "\033[%sm%s\033[0m", codes[style], text);
	else
		buf_puts(out, text);
}

void human_safe(struct buf *out, struct bytes text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t i = 0;

	while (i < text.n) {
		size_t len = utf8_length(p + i, text.n - i);
		/* C1 controls (U+0080..U+009F) drive terminals as ESC does. */
		bool control = len == 1 ? p[i] < 0x20 || p[i] == 0x7f
					: len == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0;

		if (!len || control)
			buf_putc(out, '?');
		else
			buf_add(out, p + i, len);
		i += len ? len : 1;
	}
}

size_t human_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void human_bar(struct buf *out, double fraction, unsigned width)
{
	unsigned full, i;

	if (!(fraction > 0))
		fraction = 0;
	full = fraction >= 1 ? width : (unsigned)(fraction * width + 0.5);
	for (i = 0; i < width; i++)
		buf_putc(out, i < full ? '#' : ' ');
}
