/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of aligned columns for reports on terminals. Cells are kept as one run of text and laid
 * out when printed; the last column is never padded, so that lines have no trailing blanks.
 */
#include "lib/base/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/marks.h"
#include "lib/base/shorten.h"
#include "lib/base/vec.h"

struct cell {
	size_t at; /* into text */
	size_t width;
	size_t full, most; /* of a long name: where the whole of it is, and its bytes at most; most
			      0: it is none */
	enum fmt_style style;
};

struct table {
	size_t ncols;
	bool *right;
	VEC(struct cell) cells; /* row by row, the headers first */
	struct buf text;	/* zero-terminated strings */
	bool has_long, decimals, failed;
};

static void cell_add(struct table *t, enum fmt_style style, struct bytes text)
{
	struct cell c = { .at = t->text.n, .style = style };

	fmt_safe(&t->text, text);
	buf_putc(&t->text, '\0');
	if (t->text.failed) {
		t->failed = true;
		return;
	}
	c.width = fmt_width(t->text.p + c.at);
	if (!vec_push(&t->cells, c))
		t->failed = true;
}

struct table *table_new(const char *const *headers)
{
	struct table *t = calloc(1, sizeof(*t));
	size_t n = 0, i;

	if (!t)
		return NULL;
	while (headers[n])
		n++;
	t->ncols = n;
	t->right = calloc(n + 1, sizeof(*t->right));
	if (!t->right) {
		free(t);
		return NULL;
	}
	for (i = 0; i < n; i++) {
		t->right[i] = headers[i][0] == '>';
		cell_add(t, FMT_BOLD, bytes_of(headers[i] + t->right[i]));
	}
	return t;
}

void table_align_decimals(struct table *t)
{
	t->decimals = true;
}

static void cell_vadd(struct table *t, enum fmt_style style, const char *fmt, va_list ap)
{
	struct buf text = { 0 };

	buf_vprintf(&text, fmt, ap);
	if (text.failed)
		t->failed = true;
	else
		cell_add(t, style, buf_bytes(&text));
	buf_free(&text);
}

void table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cell_vadd(t, FMT_PLAIN, fmt, ap);
	va_end(ap);
}

void table_cell_long(struct table *t, struct bytes text, size_t max)
{
	size_t cells = t->cells.n;

	cell_add(t, FMT_PLAIN, text);
	if (t->cells.n == cells)
		return;
	t->cells.v[cells].full = t->cells.v[cells].at;
	t->cells.v[cells].most = max;
	t->has_long = true;
}

/* What is shown of the long names of a column. */
static void shorten_column(struct table *t, size_t column)
{
	size_t rows = (t->cells.n + t->ncols - 1) / t->ncols, n = 0, most = 0;
	struct shorten *v = calloc(rows + 1, sizeof(*v));

	t->failed |= !v;
	for (size_t i = column; v && i < t->cells.n; i += t->ncols) {
		const struct cell *c = &t->cells.v[i];

		if (!c->most)
			continue;
		most = c->most;
		/* Its own copy: the text grows below. */
		v[n++].full = bytes_of(strdup(t->text.p + c->full));
	}
	shorten_all(v, n, most);
	n = 0;
	for (size_t i = column; v && i < t->cells.n; i += t->ncols) {
		struct cell *c = &t->cells.v[i];

		if (!c->most)
			continue;
		c->at = t->text.n;
		buf_add(&t->text, v[n].text.p, v[n].text.n);
		buf_putc(&t->text, '\0');
		t->failed |= v[n].text.failed || !v[n].full.p || t->text.failed;
		if (!t->failed)
			c->width = fmt_width(t->text.p + c->at);
		free((char *)(uintptr_t)v[n].full.p);
		buf_free(&v[n++].text);
	}
	free(v);
}

static void shorten_cells(struct table *t)
{
	for (size_t column = 0; t->has_long && !t->failed && column < t->ncols; column++)
		shorten_column(t, column);
	t->has_long = false;
}

void table_cell_styled(struct table *t, enum fmt_style style, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cell_vadd(t, style, fmt, ap);
	va_end(ap);
}

static void put_spaces(struct buf *out, size_t n)
{
	while (n--)
		buf_putc(out, ' ');
}

/* What of a number is not before its decimal point: ".5e+09" of "1.5e+09". The header has none. */
static size_t fraction_width(const struct table *t, size_t i)
{
	const char *text = t->text.p + t->cells.v[i].at;

	if (i < t->ncols || !t->decimals || !t->right[i % t->ncols])
		return 0;
	return strlen(text + strcspn(text, ".e"));
}

static size_t column_fraction(const struct table *t, size_t column)
{
	size_t widest = 0;

	for (size_t i = column; i < t->cells.n; i += t->ncols) {
		size_t width = fraction_width(t, i);

		widest = width > widest ? width : widest;
	}
	return widest;
}

static size_t column_width(const struct table *t, size_t column)
{
	size_t width = 0, fraction = column_fraction(t, column);

	for (size_t i = column; i < t->cells.n; i += t->ncols) {
		size_t here = t->cells.v[i].width;

		if (i >= t->ncols)
			here += fraction - fraction_width(t, i);
		width = here > width ? here : width;
	}
	return width;
}

/* Of all columns, and behind them what numbers have behind their decimal points. Yours to free;
 * NULL: no memory. */
static size_t *widths_of(struct table *t)
{
	size_t *widths;

	shorten_cells(t);
	widths = t->failed ? NULL : calloc(2 * t->ncols + 1, sizeof(*widths));
	for (size_t i = 0; widths && i < t->ncols; i++) {
		widths[i] = column_width(t, i);
		widths[t->ncols + i] = column_fraction(t, i);
	}
	return widths;
}

/* The cell in so many columns: of a name that is longer its middle is left out, of other text its
 * end. */
static void put_cell(struct buf *out, const char *text, const struct cell *c, size_t room,
		     bool name, bool color)
{
	struct buf cut = { 0 };
	size_t tail = name && room > 2 ? (room - 2) / 2 : 0, head = room - tail - (name ? 2 : 0), i;

	if (c->width <= room) {
		fmt_styled(out, color, c->style, text);
		return;
	}
	for (i = 0; head && text[i]; i++) {
		buf_putc(&cut, text[i]);
		head -= ((unsigned char)text[i + 1] & 0xc0) != 0x80;
	}
	if (name) {
		buf_puts(&cut, "..");
		for (i = strlen(text); tail && i; i--)
			tail -= ((unsigned char)text[i - 1] & 0xc0) != 0x80;
		buf_puts(&cut, text + i);
	}
	fmt_styled(out, color, c->style, buf_text(&cut));
	out->failed |= cut.failed;
	buf_free(&cut);
}

/* Columns of width 0 are left out. */
static void put_rows(struct buf *out, const struct table *t, const size_t *widths, unsigned indent,
		     bool color)
{
	size_t last = 0;

	for (size_t i = 0; i < t->ncols; i++)
		last = widths[i] ? i : last;
	for (size_t i = 0; i < t->cells.n; i++) {
		const struct cell *c = &t->cells.v[i];
		/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a cell is in a column */
		size_t column = i % t->ncols, room = widths[column],
		       pad = room > c->width ? room - c->width : 0, behind = pad;

		if (room) {
			put_spaces(out, column ? 2 : indent);
			if (t->right[column]) {
				behind = i < t->ncols
						 ? 0
						 : widths[t->ncols + column] - fraction_width(t, i);
				put_spaces(out, pad - behind);
			}
			put_cell(out, t->text.p + c->at, c, room, column == 0, color);
			if (column != last)
				put_spaces(out, behind);
		}
		if (column + 1 == t->ncols || i + 1 == t->cells.n)
			buf_putc(out, '\n');
	}
}

void table_text(struct buf *out, struct table *t, unsigned indent, bool color)
{
	size_t *widths = widths_of(t);

	if (widths)
		put_rows(out, t, widths, indent, color);
	out->failed |= !widths;
	free(widths);
}

static size_t needed_width(const struct table *t, const size_t *widths, unsigned indent)
{
	size_t n = indent;

	for (size_t i = 0; i < t->ncols; i++)
		n += widths[i] + (i && widths[i] ? 2 : 0);
	return n;
}

#define NAME_LEAST 22 /* columns of a name that is cut for others' sake */
#define TEXT_LEAST 24 /* of text at the end of a row */

/* Makes a column narrower by what is over, down to least. Returns what is still over. */
static size_t narrow_column(size_t *width, size_t least, size_t over)
{
	size_t part = *width > least ? *width - least : 0;

	part = part < over ? part : over;
	*width -= part;
	return over - part;
}

void table_narrow(struct buf *out, struct table *t, unsigned indent, bool color, unsigned columns,
		  const unsigned *leave_out)
{
	size_t *widths = widths_of(t), least[2], over, last = t->ncols - 1;

	if (!widths) {
		out->failed = true;
		return;
	}
	least[0] = widths[0] < NAME_LEAST ? widths[0] : NAME_LEAST;
	least[1] = widths[last] < TEXT_LEAST || t->right[last] ? widths[last] : TEXT_LEAST;
	while (columns && *leave_out &&
	       needed_width(t, widths, indent) - (widths[0] - least[0]) -
			       (widths[last] ? widths[last] - least[1] : 0) >
		       columns)
		widths[*leave_out++] = 0;
	over = needed_width(t, widths, indent);
	over = columns && over > columns ? over - columns : 0;
	over = narrow_column(&widths[last], least[1], over);
	over = narrow_column(&widths[0], least[0], over);
	/* Narrower than anything can be read. */
	over = narrow_column(&widths[last], 0, over);
	narrow_column(&widths[0], 1, over);
	put_rows(out, t, widths, indent, color);
	free(widths);
}

/* A row as lines: empty cells and dashes are left out. */
static void fold_row(struct buf *out, const struct table *t, size_t row, unsigned indent,
		     bool color, unsigned columns)
{
	size_t at = 0;

	for (size_t k = 0; k < t->ncols && row + k < t->cells.n; k++) {
		const struct cell *c = &t->cells.v[row + k], *head = &t->cells.v[k];
		const char *text = t->text.p + c->at;
		size_t width = k ? head->width + 1 + c->width : c->width;

		if (k && (c->width == 0 || strcmp(text, "-") == 0))
			continue;
		if (k == 1 || (k && (at == 0 || at + 2 + width > columns))) {
			buf_putc(out, '\n');
			at = 0;
		}
		if (at) {
			buf_puts(out, "  ");
			at += 2;
		} else {
			at = indent + (k ? 2 : 0);
			put_spaces(out, at);
		}
		if (k) {
			fmt_styled(out, color, FMT_DIM, t->text.p + head->at);
			buf_putc(out, ' ');
		}
		fmt_styled(out, color, k ? c->style : FMT_BOLD, text);
		at += width;
	}
	buf_putc(out, '\n');
}

static void table_marks(struct buf *out, const struct table *t, bool color)
{
	buf_putc(out, MARK_TABLE);
	for (size_t i = 0; i < t->cells.n; i++) {
		const struct cell *c = &t->cells.v[i];

		if (i < t->ncols && t->right[i])
			buf_putc(out, '>');
		fmt_styled(out, color && i >= t->ncols, c->style, t->text.p + c->at);
		buf_putc(out, MARK_CELL);
		/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a cell is in a column */
		if ((i + 1) % t->ncols == 0)
			buf_putc(out, MARK_ROW);
	}
	buf_putc(out, MARK_TABLE_END);
	buf_putc(out, '\n');
}

void table_fold(struct buf *out, struct table *t, unsigned indent, bool color, unsigned columns)
{
	size_t needed = indent;

	shorten_cells(t);

	if (columns == MARKS_COLUMNS && !t->failed) {
		table_marks(out, t, color);
		return;
	}
	for (size_t i = 0; i < t->ncols; i++)
		needed += column_width(t, i) + (i ? 2 : 0);
	if (t->failed || columns == 0 || needed <= columns) {
		table_text(out, t, indent, color);
		return;
	}
	for (size_t row = t->ncols; row < t->cells.n; row += t->ncols)
		fold_row(out, t, row, indent, color, columns);
}

void table_free(struct table *t)
{
	if (!t)
		return;
	free(t->right);
	vec_free(&t->cells);
	buf_free(&t->text);
	free(t);
}
