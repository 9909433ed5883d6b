/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns are looked through once before the first row is written.
 */
#include "lib/mcp/token_budget_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME_ROWS 3 /* fewer are not worth a line of their own */
#define LONG \
	INT64_C(1000000000000) /* counted from the least: times in nanoseconds, not ids and sizes */

struct token_budget_cells {
	const char *key; /* of objects; NULL: rows are arrays */
	size_t at;	 /* in those */
	double times;
	enum { SHOWN, SAME, NOTHING } what;
	int64_t base;	 /* subtracted from what is shown; 0: nothing is */
	struct buf same; /* in all rows */
	struct token_budget_words words;
};

static struct json cell_of(const struct token_budget_cells *c, struct json row)
{
	return c->key ? json_get(row, c->key) : json_at(row, c->at);
}

static bool looks_marked(const char *p, size_t n)
{
	return n > 1 && p[0] == '$' && p[1] >= '0' && p[1] <= '9';
}

/* What parts cells, and what looks like a mark, has a backslash before it where it is text. */
static void put_text(struct buf *out, struct json v)
{
	size_t from = out->n;
	struct buf text = { 0 };

	token_budget_append_value(out, v);
	if (out->failed || out->n == from ||
	    (!memchr(out->p + from, '|', out->n - from) &&
	     !looks_marked(out->p + from, out->n - from)))
		return;
	buf_add(&text, out->p + from, out->n - from);
	out->n = from;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '|' || (i == 0 && looks_marked(text.p, text.n)))
			buf_putc(out, '\\');
		buf_putc(out, text.p[i]);
	}
	buf_free(&text);
}

/* Parses an integer; one that a double cannot hold is a text. */
static bool parse_whole(struct json v, int64_t *n)
{
	struct bytes text = json_bytes(v);
	char again[24];

	if (json_type(v) == JSON_TYPE_NUMBER) {
		double x = json_double(v, 0);

		*n = x > -9e15 && x < 9e15 ? (int64_t)x : 0;
		return (double)*n == x;
	}
	if (json_type(v) != JSON_TYPE_STRING || !text.n || text.n >= sizeof(again))
		return false;
	*n = strtoll(text.p, NULL, 10);
	snprintf(again, sizeof(again), "%" PRId64, *n);
	return bytes_equal(text, bytes_of(again));
}

/* ---- what a column has ---- */

static bool nothing_in(const struct token_budget_cells *c, struct json rows)
{
	bool nothing = true;

	for (size_t i = 0, n = json_length(rows); i < n && nothing; i++) {
		struct json row = json_at(rows, i), v = cell_of(c, row);

		/* Zeros and empty texts say nothing when all are; in a row of its own order they
		 * are what was asked for. */
		nothing = json_type(v) == JSON_TYPE_NUMBER   ? c->key && json_double(v, 0) == 0
			  : json_type(v) == JSON_TYPE_BOOL   ? c->key && !json_is_true(v)
			  : json_type(v) == JSON_TYPE_STRING ? !json_bytes(v).n
							     : json_length(v) == 0;
		json_free(v);
		json_free(row);
	}
	return nothing;
}

static bool same_in(struct token_budget_cells *c, struct json rows)
{
	struct buf text = { 0 };
	bool same = true;

	for (size_t i = 0, n = json_length(rows); i < n && same; i++) {
		struct json row = json_at(rows, i), v = cell_of(c, row);

		buf_reset(&text);
		put_text(i ? &text : &c->same, v);
		same = !i || bytes_equal(buf_bytes(&text), buf_bytes(&c->same));
		json_free(v);
		json_free(row);
	}
	buf_free(&text);
	return same;
}

static int64_t base_of(const struct token_budget_cells *c, struct json rows)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (size_t i = 0, n = json_length(rows); i < n; i++) {
		struct json row = json_at(rows, i), v = cell_of(c, row);
		int64_t x = 0;
		bool is = parse_whole(v, &x) && x >= LONG;

		json_free(v);
		json_free(row);
		if (!is)
			return 0;
		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	return most - least < least / 1000 ? least : 0;
}

static bool find_words(struct token_budget_cells *c, struct json rows)
{
	struct buf text = { 0 };
	bool good = true;

	for (size_t i = 0, n = json_length(rows); i < n && good; i++) {
		struct json row = json_at(rows, i), v = cell_of(c, row);

		buf_reset(&text);
		put_text(&text, v);
		good = token_budget_words_count(&c->words, buf_bytes(&text));
		json_free(v);
		json_free(row);
	}
	token_budget_words_choose(&c->words);
	buf_free(&text);
	return good;
}

/* Decides how the cells of a column are written. false: out of memory. */
static bool examine_column(struct token_budget_cells *c, struct json rows)
{
	size_t n = json_length(rows);

	if (c->key ? nothing_in(c, rows) : n >= SAME_ROWS && nothing_in(c, rows))
		c->what = NOTHING;
	else if (n >= SAME_ROWS && same_in(c, rows))
		c->what = SAME;
	else if (n >= SAME_ROWS)
		c->base = base_of(c, rows);
	if (c->what != SHOWN || n < SAME_ROWS || c->base || c->times > 0)
		return !c->same.failed;
	return find_words(c, rows);
}

/* ---- the head ---- */

static void put_name(struct buf *out, const struct token_budget_rows *r,
		     const struct token_budget_cells *c, struct json names)
{
	if (c->key) {
		const char *head = r->list->columns[c->at].head;

		buf_puts(out, head ? head : c->key);
	} else {
		struct json v = json_at(names, c->at);

		put_text(out, v);
		json_free(v);
	}
}

static void put_names(struct buf *out, const struct token_budget_rows *r, int what,
		      const char *before, struct json names)
{
	bool any = false;

	for (size_t i = 0; i < r->columns.n; i++) {
		const struct token_budget_cells *c = &r->columns.v[i];

		if ((int)c->what != what || (what == NOTHING && c->key))
			continue;
		buf_puts(out, any ? "|" : before);
		put_name(out, r, c, names);
		if (c->what == SAME) {
			buf_putc(out, ' ');
			buf_add(out, c->same.p, c->same.n);
		}
		if (c->base)
			buf_printf(out, "-%" PRId64, c->base);
		any = true;
	}
	if (any)
		buf_putc(out, '\n');
}

static void free_cells(struct token_budget_cells *c)
{
	buf_free(&c->same);
	token_budget_words_free(&c->words);
}

void token_budget_rows_begin(struct token_budget_rows *r, struct buf *head,
			     const struct answer_list *l, struct json answer, struct json rows)
{
	struct json names = l->columns ? JSON_NONE : json_get(answer, "columns");
	bool shown = false;

	*r = (struct token_budget_rows){ .list = l };
	if (!l->row) {
		for (size_t i = 0; l->columns ? l->columns[i].key != NULL : i < json_length(names);
		     i++) {
			struct token_budget_cells c = {
				.key = l->columns ? l->columns[i].key : NULL,
				.at = i,
				.times = l->columns ? l->columns[i].times : 0
			};

			head->failed |= !examine_column(&c, rows);
			if (!vec_push(&r->columns, c)) {
				head->failed = true;
				free_cells(&c);
				break;
			}
			shown |= c.what == SHOWN;
		}
		/* A line for each row, whatever stands in it. */
		if (!shown && r->columns.n)
			r->columns.v[0].what = SHOWN;
	}
	if (l->title && json_length(rows))
		buf_printf(head, "%s\n", l->title);
	if (!l->row && json_length(rows)) {
		put_names(head, r, SAME, "in every row: ", names);
		put_names(head, r, NOTHING, "in no row: ", names);
		put_names(head, r, SHOWN, "", names);
	}
	json_free(names);
}

/* ---- rows ---- */

static void put_cell(struct buf *out, struct token_budget_cells *c, struct json row,
		     unsigned *marks)
{
	struct json v = cell_of(c, row);
	struct buf text = { 0 };
	int64_t x = 0;

	if (c->base && parse_whole(v, &x))
		buf_printf(out, "%" PRId64, x - c->base);
	else if (c->times > 0 && json_type(v) == JSON_TYPE_NUMBER)
		token_budget_append_number(out, json_double(v, 0) * c->times);
	else
		put_text(c->words.v.n ? &text : out, v);
	if (text.n)
		token_budget_words_append(&c->words, out, buf_bytes(&text), marks);
	out->failed |= text.failed;
	buf_free(&text);
	json_free(v);
}

/* Empty cells at the end are not written. */
void token_budget_rows_write(struct token_budget_rows *r, struct buf *out, struct json row,
			     size_t at)
{
	size_t full = out->n;
	bool any = false;

	if (r->list->row) {
		r->list->row(out, row, at);
		return;
	}
	for (size_t i = 0; i < r->columns.n; i++) {
		size_t from;

		if (r->columns.v[i].what != SHOWN)
			continue;
		if (any)
			buf_putc(out, '|');
		any = true;
		from = out->n;
		put_cell(out, &r->columns.v[i], row, &r->marks);
		full = out->n > from ? out->n : full;
	}
	out->n = full;
	buf_putc(out, '\n');
}

void token_budget_rows_end(struct token_budget_rows *r)
{
	for (size_t i = 0; i < r->columns.n; i++)
		free_cells(&r->columns.v[i]);
	vec_free(&r->columns);
}
