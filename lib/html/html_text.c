/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the text report into HTML, line by line. A forged mark, where a text from outside was
 * put in without fmt_safe, can make a table of it, and never markup. */
#include "lib/html/html_text.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/marks.h"
#include "lib/base/utf8.h"

#define POINTS_MOST 256

/* Up to `most` bytes, and no character cut in two. */
static size_t cut_length(struct bytes text, size_t most)
{
	size_t n = text.n < most ? text.n : most;

	while (n < text.n && n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void escape_one(struct buf *out, const unsigned char *p, size_t length)
{
	switch (*p) {
	case '<':
		buf_puts(out, "&lt;");
		break;
	case '>':
		buf_puts(out, "&gt;");
		break;
	case '&':
		buf_puts(out, "&amp;");
		break;
	case '"':
		buf_puts(out, "&quot;");
		break;
	case '\'':
		buf_puts(out, "&#39;");
		break;
	default:
		buf_add(out, p, length);
	}
}

/* Controls, C1 as well, are no text in HTML; nor are the marks that turn the direction of what
 * stands around them. */
static bool is_harmless(const unsigned char *p, size_t length)
{
	bool turns = length == 3 && p[0] == 0xe2 &&
		     ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) ||
		      (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));

	return length && !turns && *p >= 0x20 && *p != 0x7f && !(*p == 0xc2 && p[1] < 0xa0);
}

static void escape_all(struct buf *out, struct bytes text)
{
	const unsigned char *p = (const unsigned char *)text.p;

	for (size_t i = 0; i < text.n;) {
		size_t length = utf8_length(p + i, text.n - i);

		if (is_harmless(p + i, length))
			escape_one(out, p + i, length);
		else
			utf8_put(out, 0xfffd);
		i += length ? length : 1;
	}
}

void html_escape(struct buf *out, struct bytes text, size_t most)
{
	size_t n = cut_length(text, most ? most : HTML_LINE_MOST);

	escape_all(out, (struct bytes){ text.p, n });
	if (n < text.n)
		utf8_put(out, 0x2026);
}

void html_bar(struct buf *out, double fraction, enum fmt_style style)
{
	double width = fraction > 1 ? 100 : fraction > 0 ? fraction * 100 : 0;

	/* That there is something is seen. */
	width = fraction > 0 && width < 0.8 ? 0.8 : width;
	buf_printf(out,
		   "<svg class=\"b s%u\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
		   "aria-hidden=\"true\"><rect class=\"bg\" width=\"100\" height=\"10\"/>",
		   (unsigned)style);
	if (width > 0)
		buf_printf(out, "<rect width=\"%.2f\" height=\"10\"/>", width);
	buf_puts(out, "</svg>");
}

void html_curve(struct buf *out, const double *v, unsigned n, double top)
{
	unsigned points = n == 1 ? 2 : n; /* one value is a line, too */
	double most = top;

	for (unsigned i = 0; i < n && !(top > 0); i++)
		most = v[i] > most ? v[i] : most;
	buf_puts(out, "<svg class=\"c\" viewBox=\"0 0 300 40\" preserveAspectRatio=\"none\" "
		      "aria-hidden=\"true\"><path class=\"a\" d=\"M0 40");
	for (unsigned pass = 0; pass < 2; pass++) {
		if (pass)
			buf_puts(out, "L300 40Z\"/><path class=\"l\" d=\"");
		for (unsigned i = 0; i < points; i++) {
			double at = v[i < n ? i : 0];
			double share = most > 0 && at > 0 ? (at < most ? at / most : 1) : 0;

			buf_printf(out, "%c%.1f %.1f", pass && i == 0 ? 'M' : 'L',
				   300.0 * i / (points - 1), 39 - 38 * share);
		}
	}
	buf_puts(out, "\"/></svg>");
}

/* "\033[1;31m": *code is the style, 0 when it ends one; *after is the index behind it. False: not a
 * style. */
static bool parse_style(struct bytes text, size_t at, unsigned *code, size_t *after)
{
	unsigned bold = 0, color = 0, number = 0;
	size_t i = at + 2;

	if (at + 2 >= text.n || text.p[at] != '\033' || text.p[at + 1] != '[')
		return false;
	for (; i < text.n && i < at + 10; i++) {
		if (text.p[i] >= '0' && text.p[i] <= '9') {
			number = number * 10 + (unsigned)(text.p[i] - '0');
			continue;
		}
		bold |= number == 1;
		color = number >= 30 && number < 40 ? number : color;
		number = 0;
		if (text.p[i] == 'm')
			break;
	}
	if (i >= text.n || text.p[i] != 'm')
		return false;
	*code = color ? color : bold ? 1 : 0;
	*after = i + 1;
	return true;
}

static void print_plot(struct buf *out, struct bytes values)
{
	char text[POINTS_MOST * 16], *at = text, *rest;
	double first, v[POINTS_MOST];
	unsigned n = 0;

	if (values.n < 2 || values.n >= sizeof(text))
		return;
	memcpy(text, values.p + 1, values.n - 1);
	text[values.n - 1] = 0;
	first = strtod(at, &rest);
	at = rest + (*rest == ';');
	if (values.p[0] == 'b') {
		unsigned long style = strtoul(at, NULL, 10);

		html_bar(out, first, style <= FMT_CYAN ? (enum fmt_style)style : FMT_PLAIN);
		return;
	}
	while (*at && n < POINTS_MOST) {
		v[n++] = strtod(at, &rest);
		if (rest == at)
			break;
		at = rest + (*rest == ',');
	}
	if (n)
		html_curve(out, v, n, first);
}

/* Text with styles and plots: a plot is drawn at its place in the text. */
static void print_run(struct buf *out, struct bytes text)
{
	size_t from = 0, after;
	unsigned code, open = 0;

	for (size_t i = 0; i < text.n; i++) {
		const char *end;

		if (text.p[i] == '\033' && parse_style(text, i, &code, &after)) {
			escape_all(out, (struct bytes){ text.p + from, i - from });
			if (open)
				buf_puts(out, "</span>");
			open = code;
			if (open)
				buf_printf(out, "<span class=\"t%u\">", open);
			from = after;
			i = after - 1;
		} else if (text.p[i] == MARK_PLOT) {
			escape_all(out, (struct bytes){ text.p + from, i - from });
			end = memchr(text.p + i, MARK_PLOT_END, text.n - i);
			after = end ? (size_t)(end - text.p) : text.n;
			print_plot(out, (struct bytes){ text.p + i + 1, after - i - 1 });
			from = after < text.n ? after + 1 : text.n;
			i = from - 1;
		}
	}
	escape_all(out, (struct bytes){ text.p + from, text.n - from });
	if (open)
		buf_puts(out, "</span>");
}

/* Returns the text before the next `mark` and moves *text behind that; all of it without a mark. */
static struct bytes split_at(struct bytes *text, char mark)
{
	const char *end = text->n ? memchr(text->p, mark, text->n) : NULL;
	struct bytes part = { text->p, end ? (size_t)(end - text->p) : text->n };

	text->p += part.n + (end != NULL);
	text->n -= part.n + (end != NULL);
	return part;
}

static struct bytes trim_spaces(struct bytes t)
{
	while (t.n && *t.p == ' ') {
		t.p++;
		t.n--;
	}
	while (t.n && t.p[t.n - 1] == ' ')
		t.n--;
	return t;
}

static void cell_text(struct buf *out, struct bytes cell)
{
	size_t n = cut_length(cell, HTML_LINE_MOST);

	print_run(out, (struct bytes){ cell.p, n });
	if (n < cell.n)
		utf8_put(out, 0x2026);
}

#define COLUMNS_MOST 32

static void print_headers(struct buf *out, struct bytes row, struct bytes *names, unsigned *n)
{
	buf_puts(out, "<div class=\"t\"><table><thead><tr>");
	while (row.n && *n < COLUMNS_MOST) {
		struct bytes cell = split_at(&row, MARK_CELL);

		names[(*n)++] = cell;
		buf_puts(out, cell.n && *cell.p == '>' ? "<th class=\"n\">" : "<th>");
		if (cell.n && *cell.p == '>')
			cell = (struct bytes){ cell.p + 1, cell.n - 1 };
		html_escape(out, cell, 0);
		buf_puts(out, "</th>");
	}
	buf_puts(out, "</tr></thead><tbody>");
}

static void print_cells(struct buf *out, struct bytes row, const struct bytes *names, unsigned n)
{
	buf_puts(out, "<tr>");
	for (unsigned i = 0; i < n && row.n; i++) {
		struct bytes cell = trim_spaces(split_at(&row, MARK_CELL)), name = names[i];
		bool number = name.n && *name.p == '>';
		bool nothing = cell.n == 0 || (cell.n == 1 && *cell.p == '-');

		if (number)
			name = (struct bytes){ name.p + 1, name.n - 1 };
		buf_printf(out, "<td class=\"%s%s\" data-h=\"", number ? "n" : "",
			   nothing ? " e" : "");
		html_escape(out, name, 0);
		buf_puts(out, "\">");
		cell_text(out, cell);
		buf_puts(out, "</td>");
	}
	buf_puts(out, "</tr>");
}

static void print_table(struct buf *out, struct bytes text)
{
	struct bytes names[COLUMNS_MOST];
	size_t rows = 0, over = 0;
	unsigned n = 0;

	print_headers(out, split_at(&text, MARK_ROW), names, &n);
	while (text.n) {
		struct bytes row = split_at(&text, MARK_ROW);

		if (rows++ < HTML_ROWS_MOST)
			print_cells(out, row, names, n);
		else
			over++;
	}
	buf_puts(out, "</tbody></table></div>\n");
	if (over)
		buf_printf(out, "<p class=\"i\">and %zu more</p>\n", over);
}

/* A label, a bar, what it says, a curve: in columns, so that lines below each other can be
 * compared. */
static void print_figure(struct buf *out, struct bytes line)
{
	struct bytes label = split_at(&line, MARK_PLOT), bar = split_at(&line, MARK_PLOT_END);
	bool is_bar = bar.n && *bar.p == 'b';
	bool none = is_bar && bar.n > 1 && bar.p[1] == '-';

	if (!is_bar) {
		buf_puts(out, "<div class=\"g w\"><span class=\"k\">");
		print_run(out, trim_spaces(label));
		buf_puts(out, "</span>");
		print_plot(out, bar);
	} else {
		buf_printf(out, "<div class=\"g%s\"><span class=\"k\">",
			   line.n && memchr(line.p, MARK_PLOT, line.n) ? "" : " h");
		print_run(out, trim_spaces(label));
		buf_puts(out, none ? "</span><span></span>" : "</span>");
		if (!none)
			print_plot(out, bar);
	}
	bar = split_at(&line, MARK_PLOT);
	buf_puts(out, "<span class=\"v\">");
	print_run(out, trim_spaces(bar));
	buf_puts(out, "</span>");
	print_plot(out, split_at(&line, MARK_PLOT_END));
	buf_puts(out, "</div>\n");
}

/* "Lost  2.45 s in 625 waits"; without anything behind it a heading of what follows; without a name
 * more of the same. */
static void print_fact(struct buf *out, struct bytes line)
{
	struct bytes name, rest;

	split_at(&line, MARK_NAME);
	name = split_at(&line, MARK_NAME_END);
	rest = trim_spaces(line);
	if (rest.n == 0) {
		buf_puts(out, "<h4>");
		print_run(out, name);
		buf_puts(out, "</h4>\n");
		return;
	}
	buf_puts(out, name.n ? "<div class=\"f\"><span class=\"k\">" : "<div class=\"f m\"><span>");
	print_run(out, name);
	buf_puts(out, "</span><span>");
	print_run(out, (struct bytes){ rest.p, cut_length(rest, HTML_LINE_MOST) });
	buf_puts(out, "</span></div>\n");
}

static bool print_heading(struct buf *out, struct bytes line)
{
	unsigned code;
	size_t after;
	const char *end;

	if (line.n == 0 || !parse_style(line, 0, &code, &after) || code < 30)
		return false;
	end = memchr(line.p + after, '\033', line.n - after);
	if (!end || end + 4 != line.p + line.n)
		return false;
	buf_puts(out, "<h3>");
	html_escape(out, (struct bytes){ line.p + after, (size_t)(end - line.p) - after }, 0);
	buf_puts(out, "</h3>\n");
	return true;
}

/* The line behind its lead (FMT_SHELL, FMT_CODE); {NULL, 0}: it does not begin with that. */
static struct bytes skip_lead(struct bytes line, const char *lead)
{
	size_t n = strlen(lead);
	struct bytes t = trim_spaces(line);

	return t.n > n && memcmp(t.p, lead, n) == 0 ? (struct bytes){ t.p + n, t.n - n }
						    : (struct bytes){ NULL, 0 };
}

static void print_line(struct buf *out, struct bytes text)
{
	struct bytes t = trim_spaces(text), command = skip_lead(text, FMT_SHELL),
		     code = skip_lead(text, FMT_CODE);

	if (t.n == 0 || print_heading(out, text))
		return;
	if (command.p || code.p) {
		buf_puts(out, command.p ? "<pre class=\"sh\"><code>" : "<pre><code>");
		print_run(out, command.p ? command : code);
		buf_puts(out, "</code></pre>\n");
	} else if (memchr(t.p, MARK_NAME, t.n)) {
		print_fact(out, t);
	} else if (memchr(t.p, MARK_PLOT, t.n)) {
		print_figure(out, t);
	} else {
		buf_puts(out, text.p[0] == ' ' ? "<p class=\"i\">" : "<p>");
		cell_text(out, t);
		buf_puts(out, "</p>\n");
	}
}

void html_blocks(struct buf *out, struct bytes text)
{
	size_t n = cut_length(text, HTML_PART_MOST);
	struct bytes left = { text.p, n };

	while (left.n) {
		struct bytes one = split_at(&left, '\n');

		if (one.n && *one.p == MARK_TABLE) {
			one = (struct bytes){ one.p + 1, one.n - 1 };
			print_table(out, split_at(&one, MARK_TABLE_END));
		} else {
			print_line(out, one);
		}
	}
	if (n < text.n)
		buf_puts(out, "<p class=\"i\">and more, which is left out here</p>\n");
}
