/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned tables. Cells are kept as one run of text and laid out when printed; the last column is
 * never padded, so that lines have no trailing blanks.
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
	size_t full,
		most; /* of a long name: where the whole of it is, and its bytes at most; most 0: it is none */
	enum human_style style;
};

struct table {
	size_t ncols;
	bool *right;
	VEC(struct cell) cells; /* row by row, the headers first */
	struct buf text;	/* zero-terminated strings */
	bool has_long, failed;
};

static void cell_add(struct table *t, enum human_style style, struct bytes text)
{
	struct cell c = { .at = t->text.n, .style = style };

	human_safe(&t->text, text);
	buf_putc(&t->text, '\0');
	if (t->text.failed) {
		t->failed = true;
		return;
	}
	c.width = human_width(t->text.p + c.at);
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
		cell_add(t, HUMAN_BOLD, bytes_of(headers[i] + t->right[i]));
	}
	return t;
}

static void cell_vadd(struct table *t, enum human_style style, const char *fmt, va_list ap)
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
	cell_vadd(t, HUMAN_PLAIN, fmt, ap);
	va_end(ap);
}

void table_cell_long(struct table *t, struct bytes text, size_t max)
{
	size_t cells = t->cells.n;

	cell_add(t, HUMAN_PLAIN, text);
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
			c->width = human_width(t->text.p + c->at);
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

void table_cell_styled(struct table *t, enum human_style style, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cell_vadd(t, style, fmt, ap);
	va_end(ap);
}

static void spaces(struct buf *out, size_t n)
{
	while (n--)
		buf_putc(out, ' ');
}

static size_t column_width(const struct table *t, size_t column)
{
	size_t width = 0, i;

	for (i = column; i < t->cells.n; i += t->ncols)
		if (t->cells.v[i].width > width)
			width = t->cells.v[i].width;
	return width;
}

void table_text(struct buf *out, struct table *t, unsigned indent, bool color)
{
	size_t *widths, i;

	shorten_cells(t);
	widths = t->failed ? NULL : calloc(t->ncols + 1, sizeof(*widths));
	if (!widths) {
		out->failed = true;
		return;
	}
	for (i = 0; i < t->ncols; i++)
		widths[i] = column_width(t, i);
	for (i = 0; i < t->cells.n; i++) {
		const struct cell *c = &t->cells.v[i];
		/* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a cell is in a column */
		size_t column = i % t->ncols, pad = widths[column] - c->width;
		bool last = column + 1 == t->ncols;

		spaces(out, column ? 2 : indent);
		if (t->right[column])
			spaces(out, pad);
		human_styled(out, color, c->style, t->text.p + c->at);
		if (!t->right[column] && !last)
			spaces(out, pad);
		if (last || i + 1 == t->cells.n)
			buf_putc(out, '\n');
	}
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
			spaces(out, at);
		}
		if (k) {
			human_styled(out, color, HUMAN_DIM, t->text.p + head->at);
			buf_putc(out, ' ');
		}
		human_styled(out, color, k ? c->style : HUMAN_BOLD, text);
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
		human_styled(out, color && i >= t->ncols, c->style, t->text.p + c->at);
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
	size_t needs = indent;

	shorten_cells(t);

	if (columns == MARKS_COLUMNS && !t->failed) {
		table_marks(out, t, color);
		return;
	}
	for (size_t i = 0; i < t->ncols; i++)
		needs += column_width(t, i) + (i ? 2 : 0);
	if (t->failed || columns == 0 || needs <= columns) {
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
