/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats numbers with units, styled text and text from outside for terminals. Three significant
 * digits are what a person reads.
 */
#include "lib/base/fmt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/timetext.h"
#include "lib/base/utf8.h"

struct fmt_text fmt_ns(uint64_t ns)
{
	struct fmt_text out;

	duration_text(out.s, sizeof(out.s), ns);
	return out;
}

struct fmt_text fmt_bytes(uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct fmt_text out;
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

struct fmt_text fmt_count(uint64_t n)
{
	struct fmt_text out;
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

struct fmt_text fmt_percent(double fraction)
{
	struct fmt_text out;
	double percent = fraction * 100;

	snprintf(out.s, sizeof(out.s), isfinite(percent) ? "%.1f%%" : "-", percent);
	return out;
}

void fmt_styled(struct buf *out, bool color, enum fmt_style style, const char *text)
{
	static const char *const codes[] = { "", "1", "2", "31", "32", "33", "34", "36" };

	if (color && style != FMT_PLAIN)
		buf_printf(out, "\033[%sm%s\033[0m", codes[style], text);
	else
		buf_puts(out, text);
}

void fmt_safe(struct buf *out, struct bytes text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t i = 0;

	while (i < text.n) {
		size_t len = utf8_length(p + i, text.n - i);

		if (!len || !utf8_is_seen(p + i, len))
			buf_putc(out, '?');
		else
			buf_add(out, p + i, len);
		i += len ? len : 1;
	}
}

/* The last word that ends in s, without the room behind it; n 0: none does. */
static struct bytes many_of(struct bytes words)
{
	struct bytes many = { words.p, 0 };

	for (size_t from = 0, i = 0; i <= words.n; i++) {
		if (i < words.n && words.p[i] != ' ')
			continue;
		if (i > from + 1 && words.p[i - 1] == 's')
			many = (struct bytes){ words.p + from, i - from };
		from = i + 1;
	}
	return many;
}

static bool ends_in(struct bytes word, const char *end)
{
	size_t n = strlen(end);

	return word.n > n && memcmp(word.p + word.n - n, end, n) == 0;
}

void fmt_counted(struct buf *out, uint64_t n, struct bytes words)
{
	struct bytes many = many_of(words);
	size_t before = (size_t)(many.p - words.p) + many.n;
	unsigned drops = ends_in(many, "ies") ? 3 : ends_in(many, "ches") ? 2 : 1;

	buf_puts(out, fmt_count(n).s);
	buf_putc(out, ' ');
	if (n != 1 || !many.n) {
		fmt_safe(out, words);
		return;
	}
	fmt_safe(out, (struct bytes){ words.p, before - drops });
	if (drops == 3)
		buf_putc(out, 'y');
	fmt_safe(out, (struct bytes){ words.p + before, words.n - before });
}

size_t fmt_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void fmt_bar(struct buf *out, double fraction, unsigned width)
{
	unsigned full, i;

	if (!(fraction > 0))
		fraction = 0;
	full = fraction >= 1 ? width : (unsigned)(fraction * width + 0.5);
	for (i = 0; i < width; i++)
		buf_putc(out, i < full ? '#' : ' ');
}

/* How many bytes the escape sequence at p[0..n) takes; 0: there is none. */
static size_t escape_length(const char *p, size_t n)
{
	size_t i = 2;

	if (n < 3 || p[0] != '\033' || p[1] != '[')
		return 0;
	while (i < n && (p[i] == ';' || (p[i] >= '0' && p[i] <= '9')))
		i++;
	return i < n ? i + 1 : n;
}

static void wrap_line(struct buf *out, const char *p, size_t n, unsigned columns)
{
	size_t indent = 0, first = 0, at = 0, start = 0, width, end, skip;

	for (; first < n; first += skip ? skip : 1) {
		skip = escape_length(p + first, n - first);
		if (!skip && p[first] != ' ')
			break;
		indent += !skip;
	}
	if (n >= first + 2 &&
	    (memcmp(p + first, FMT_SHELL, 2) == 0 || memcmp(p + first, FMT_CODE, 2) == 0)) {
		buf_add(out, p, n);
		return;
	}
	/* Blanks and the word behind them, again and again. */
	for (; start < n; start = end, at += width) {
		size_t blanks = 0;

		for (end = start; end < n && p[end] == ' '; end++)
			blanks++;
		width = blanks;
		while (end < n && p[end] != ' ') {
			skip = escape_length(p + end, n - end);
			if (skip) {
				end += skip;
				continue;
			}
			width += ((unsigned char)p[end] & 0xc0) != 0x80;
			end++;
		}
		if (at + width <= columns || at <= indent + 2) {
			buf_add(out, p + start, end - start);
			continue;
		}
		buf_putc(out, '\n');
		for (size_t i = 0; i < indent + 2; i++)
			buf_putc(out, ' ');
		buf_add(out, p + start + blanks, end - start - blanks);
		at = indent + 2;
		width -= blanks;
	}
}

void fmt_wrap(struct buf *out, struct bytes text, unsigned columns)
{
	for (size_t at = 0; at < text.n;) {
		const char *p = text.p, *end = memchr(p + at, '\n', text.n - at);
		size_t n = end ? (size_t)(end - p) - at : text.n - at;

		if (columns)
			wrap_line(out, p + at, n, columns);
		else
			buf_add(out, p + at, n);
		if (end)
			buf_putc(out, '\n');
		at += n + (end != NULL);
	}
}
