/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are written one by one, as long as there is room for them; a list is then cut to those. The head is never cut: a budget is
 * for lists.
 */
#include "lib/serve/shape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/select/confined.h"
#include "lib/serve/clean.h"

#define NOTES_TOKENS  20 /* kept free for what is said of lists that are cut, */
#define NOTE_TOKENS   8	 /* …and of each, */
#define JSON_TOKENS   70 /* which as JSON is longer */
#define JQ_SECONDS    2
#define JQ_BYTES      (256u << 20)
#define JQ_OUTPUT_MAX (1u << 20)
#define COLUMNS_MAX   32

/* ---- tokens ---- */

static bool is_letter(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* Words of up to six letters, three digits, and other characters each for itself: what vocabularies of a hundred thousand and
 * more do on average with text like ours, or a little worse. A blank before a word is part of it. */
uint64_t shape_tokens(struct bytes text)
{
	uint64_t n = 0;

	for (size_t i = 0; i < text.n;) {
		size_t from = i;

		if (is_letter((unsigned char)text.p[i])) {
			while (i < text.n && is_letter((unsigned char)text.p[i]) &&
			       (i == from || text.p[i] >= 'a' || text.p[i - 1] < 'a'))
				i++;
			n += (i - from + 5) / 6;
		} else if (is_digit((unsigned char)text.p[i])) {
			while (i < text.n && is_digit((unsigned char)text.p[i]))
				i++;
			n += (i - from + 2) / 3;
		} else if (text.p[i] == ' ') {
			while (i < text.n && text.p[i] == ' ')
				i++;
			n += i - from > 1 || i == text.n || !is_letter((unsigned char)text.p[i]);
		} else {
			i++;
			n++;
		}
	}
	return n;
}

/* ---- values ---- */

void shape_number(struct buf *out, double x)
{
	char text[40];

	if (x == floor(x) && fabs(x) < 1e15)
		snprintf(text, sizeof(text), "%.0f", x);
	else if (fabs(x) >= 1000 && fabs(x) < 1e15)
		snprintf(text, sizeof(text), "%.0f", x);
	else
		snprintf(text, sizeof(text), "%.4g", x);
	buf_puts(out, text);
}

void shape_value(struct buf *out, struct json v)
{
	switch (json_type(v)) {
	case JSON_TYPE_NUMBER:
		shape_number(out, json_double(v, 0));
		break;
	case JSON_TYPE_STRING:
		buf_add(out, json_bytes(v).p, json_bytes(v).n);
		break;
	case JSON_TYPE_BOOL:
		buf_puts(out, json_is_true(v) ? "yes" : "no");
		break;
	case JSON_TYPE_ARRAY:
	case JSON_TYPE_OBJECT:
		json_dump(out, v, 0);
		break;
	default:
		break;
	}
}

void shape_member(struct buf *out, struct json object, const char *key)
{
	struct json v = json_get(object, key);

	shape_value(out, v);
	json_free(v);
}

/* ---- lists ---- */

struct filler {
	struct buf *text;
	bool columns;	 /* else JSON: rows are only weighed */
	uint64_t left;	 /* tokens */
	unsigned behind; /* lists behind this one that have rows */
	struct json notes;
};

/* Zeros and empty texts say nothing when all are. */
static bool says(struct json v)
{
	switch (json_type(v)) {
	case JSON_TYPE_NUMBER:
		return json_double(v, 0) != 0;
	case JSON_TYPE_STRING:
		return json_bytes(v).n != 0;
	case JSON_TYPE_BOOL:
		return json_is_true(v);
	case JSON_TYPE_ARRAY:
	case JSON_TYPE_OBJECT:
		return json_length(v) != 0;
	default:
		return false;
	}
}

static unsigned used_columns(const struct shape_list *l, struct json rows,
			     const struct shape_column *used[COLUMNS_MAX])
{
	unsigned n = 0;

	for (const struct shape_column *c = l->columns; c->key && n < COLUMNS_MAX; c++) {
		bool is = false;

		for (size_t i = 0, all = json_length(rows); i < all && !is; i++) {
			struct json row = json_at(rows, i), v = json_get(row, c->key);

			is = says(v);
			json_free(v);
			json_free(row);
		}
		if (is)
			used[n++] = c;
	}
	return n;
}

/* A cell: what parts cells is marked where it is text. */
static void put_cell(struct buf *out, struct json v)
{
	size_t from = out->n;
	struct buf text = { 0 };

	shape_value(out, v);
	if (out->failed || !memchr(out->p + from, '|', out->n - from))
		return;
	buf_add(&text, out->p + from, out->n - from);
	out->n = from;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '|')
			buf_putc(out, '\\');
		buf_putc(out, text.p[i]);
	}
	buf_free(&text);
}

static void write_row(struct buf *out, const struct shape_list *l, struct json row, size_t at,
		      const struct shape_column *const *used, unsigned nused)
{
	if (l->row) {
		l->row(out, row, at);
		return;
	}
	if (json_type(row) == JSON_TYPE_ARRAY) {
		for (size_t i = 0, n = json_length(row); i < n; i++) {
			struct json v = json_at(row, i);

			if (i)
				buf_putc(out, '|');
			put_cell(out, v);
			json_free(v);
		}
	} else {
		for (unsigned i = 0; i < nused; i++) {
			struct json v;

			if (i)
				buf_putc(out, '|');
			v = json_get(row, used[i]->key);
			put_cell(out, v);
			json_free(v);
		}
	}
	buf_putc(out, '\n');
}

static void write_head(struct buf *out, const struct shape_list *l, struct json answer,
		       const struct shape_column *const *used, unsigned nused)
{
	if (l->title)
		buf_printf(out, "%s\n", l->title);
	if (l->row)
		return;
	if (!l->columns) {
		struct json names = json_get(answer, "columns");

		write_row(out, &(struct shape_list){ 0 }, names, 0, NULL, 0);
		json_free(names);
		return;
	}
	for (unsigned i = 0; i < nused; i++)
		buf_printf(out, "%s%s", i ? "|" : "", used[i]->head ? used[i]->head : used[i]->key);
	buf_putc(out, '\n');
}

/* What was left out, for both forms. */
static void note(struct filler *f, const struct shape_list *l, size_t rows, bool by_budget,
		 uint64_t budget)
{
	struct json o = json_object();
	struct buf how = { 0 };

	if (by_budget)
		buf_printf(&how, "budget %" PRIu64 " tokens: ask with a larger budget%s%s", budget,
			   l->more ? ", or " : "", l->more ? l->more : "");
	else
		buf_printf(&how, "ask with %s", l->more ? l->more : "a larger top_n");
	json_set(&o, "list", json_text(l->key));
	json_set(&o, "rows", json_number((double)rows));
	json_set(&o, "by", json_text(by_budget ? "budget" : "top"));
	json_set(&o, "how", json_string(buf_bytes(&how)));
	json_append(&f->notes, o);
	buf_free(&how);
}

static uint64_t note_tokens(const struct filler *f)
{
	return f->columns ? NOTE_TOKENS : JSON_TOKENS;
}

/* Whether so much more fits, when more rows follow. */
static bool room(struct filler *f, uint64_t cost, bool more)
{
	uint64_t kept =
		(more || f->behind ? NOTES_TOKENS : 0) + (uint64_t)(f->behind + more) * NOTE_TOKENS;

	if (cost + kept > f->left)
		return false;
	f->left -= cost;
	return true;
}

static void fill_list(struct filler *f, struct json *answer, const struct shape_list *l,
		      const struct serve_args *args)
{
	struct json rows = json_get(*answer, l->key), kept = json_array();
	const struct shape_column *used[COLUMNS_MAX];
	size_t n = json_length(rows), i = 0, most = n;
	uint64_t top = l->top && args->top_given ? args->top : l->top_default;
	unsigned nused = l->columns && !l->row ? used_columns(l, rows, used) : 0;
	struct buf head = { 0 }, line = { 0 };
	bool fits = true;

	if (top && top < most)
		most = top;
	if (f->columns && n)
		write_head(&head, l, *answer, used, nused);
	for (; i < most && fits; i++) {
		struct json row = json_at(rows, i);

		buf_reset(&line);
		/* A head without a row says nothing. */
		if (i == 0)
			buf_add(&line, head.p, head.n);
		if (f->columns)
			write_row(&line, l, row, i, used, nused);
		else
			json_dump(&line, row, 0);
		fits = room(f, shape_tokens(buf_bytes(&line)), i + 1 < n);
		if (fits && f->columns)
			buf_add(f->text, line.p, line.n);
		if (fits)
			json_append(&kept, row);
		else
			json_free(row);
	}
	i -= !fits;
	if (l->total) {
		struct json all = json_get(*answer, l->total);

		n = json_double(all, 0) > (double)n ? (size_t)json_double(all, 0) : n;
		json_free(all);
	}
	if (i < n) {
		note(f, l, n - i, i < most, args->budget);
		f->left -= note_tokens(f) < f->left ? note_tokens(f) : f->left;
	}
	json_set(answer, l->key, kept);
	json_free(rows);
	buf_free(&head);
	buf_free(&line);
}

static void fill_lists(struct filler *f, struct json *answer, const struct shape_list *lists,
		       const struct serve_args *args)
{
	for (const struct shape_list *l = lists; l && l->key; l++) {
		struct json rows = json_get(*answer, l->key);

		f->behind += json_length(rows) != 0;
		json_free(rows);
	}
	for (const struct shape_list *l = lists; l && l->key; l++) {
		struct json rows = json_get(*answer, l->key);
		bool is = rows.is;

		f->behind -= json_length(rows) != 0;
		json_free(rows);
		if (is)
			fill_list(f, answer, l, args);
	}
}

/* One line for each reason: what, how much, and once how to have it. */
static void write_notes(struct buf *out, struct json notes, uint64_t budget)
{
	static const char *const reasons[] = { "budget", "top" };

	for (unsigned r = 0; r < 2; r++) {
		unsigned listed = 0;

		for (size_t i = 0; i < json_length(notes); i++) {
			struct json o = json_at(notes, i), by = json_get(o, "by");

			if (bytes_equal(json_bytes(by), bytes_of(reasons[r]))) {
				if (listed++)
					buf_puts(out, ", ");
				else if (r == 0)
					buf_printf(out, "left out by the budget of %" PRIu64 ": ",
						   budget);
				else
					buf_puts(out, "left out: ");
				shape_member(out, o, "rows");
				buf_putc(out, ' ');
				shape_member(out, o, "list");
				if (r == 1) {
					buf_puts(out, " (");
					shape_member(out, o, "how");
					buf_putc(out, ')');
				}
			}
			json_free(by);
			json_free(o);
		}
		if (listed)
			buf_putc(out, '\n');
	}
}

/* ---- jq ---- */

static bool stop(void *ctx)
{
	return serve_asker_stops(ctx);
}

/* Instead of the answer, what the filter makes of it: whole results only. */
static int filter(struct serve_answer *out, struct json answer, const struct serve_args *args,
		  const struct serve_asker *asker, struct err *e)
{
	const struct select_confined how = { .seconds = JQ_SECONDS,
					     .memory_bytes = JQ_BYTES,
					     .output_max = JQ_OUTPUT_MAX,
					     .stop = stop,
					     .ctx = (void *)asker };
	struct buf text = { 0 }, made = { 0 };
	struct json kept = json_array(), o = json_object();
	size_t all = 0, shown = 0;
	uint64_t left = args->budget - NOTES_TOKENS - NOTE_TOKENS;
	int rc;

	json_dump(&text, answer, 0);
	rc = select_confined_jq(args->jq, buf_bytes(&text), &how, &made, e);
	for (char *line = made.p, *end; !rc && line && *line; line = end + 1) {
		struct bytes b = { line, strcspn(line, "\n") };
		struct json v = JSON_NONE;
		struct err ignored;

		end = line + b.n;
		all++;
		if (shown + 1 == all && shape_tokens(b) + 1 <= left &&
		    !json_parse(b, &v, &ignored)) {
			struct json clean = clean_json(v);

			json_dump(&out->text, clean, 0);
			buf_putc(&out->text, '\n');
			json_append(&kept, clean);
			json_free(v);
			left -= shape_tokens(b) + 1;
			shown++;
		}
		if (!*end)
			break;
	}
	json_set(&o, "filtered", kept);
	if (!rc && shown < all) {
		struct filler f = { .notes = json_array() };

		note(&f, &(struct shape_list){ .key = "filtered" }, all - shown, true,
		     args->budget);
		write_notes(&out->text, f.notes, args->budget);
		json_set(&o, "left_out", f.notes);
	}
	if (!rc && !all)
		buf_puts(&out->text, "the filter made nothing of the answer\n");
	out->structured = o;
	buf_free(&text);
	buf_free(&made);
	return rc;
}

/* ---- the answer ---- */

/* Of the answer as JSON, without its lists. */
static uint64_t frame_tokens(struct json answer, const struct shape_list *lists)
{
	struct json frame = json_object(), key, value;
	struct buf text = { 0 };
	uint64_t n;
	int at = 0;

	while (json_each(answer, &at, &key, &value)) {
		const struct shape_list *l = lists;

		while (l && l->key && !bytes_equal(bytes_of(l->key), json_bytes(key)))
			l++;
		if (l && l->key) {
			json_free(value);
			value = json_array();
		}
		json_set(&frame, json_bytes(key).p, value);
		json_free(key);
	}
	json_dump(&text, frame, 0);
	n = shape_tokens(buf_bytes(&text));
	json_free(frame);
	buf_free(&text);
	return n;
}

int shape_answer(struct serve_answer *out, struct json answer, const struct shape *shape,
		 const struct serve_args *args, const struct serve_asker *asker, struct err *e)
{
	struct json clean = clean_json(answer);
	struct filler f = { .text = &out->text,
			    .columns = args->tsc,
			    .left = args->budget,
			    .notes = json_array() };
	struct buf foot = { 0 };
	uint64_t cost;
	int rc;

	json_free(answer);
	if (args->jq) {
		rc = filter(out, clean, args, asker, e);
		json_free(clean);
		json_free(f.notes);
		return rc ? rc : out->text.failed ? err_nomem(e) : 0;
	}
	if (args->tsc && shape->head)
		shape->head(&out->text, clean);
	if (args->tsc && shape->foot)
		shape->foot(&foot, clean);
	cost = shape_tokens(buf_bytes(&out->text)) + shape_tokens(buf_bytes(&foot));
	cost += args->tsc ? 0 : frame_tokens(clean, shape->lists);
	f.left -= cost < f.left ? cost : f.left;
	fill_lists(&f, &clean, shape->lists, args);
	if (json_length(f.notes))
		json_set(&clean, "left_out", f.notes);
	else
		json_free(f.notes);
	if (args->tsc) {
		struct json notes = json_get(clean, "left_out");

		write_notes(&out->text, notes, args->budget);
		json_free(notes);
		buf_add(&out->text, foot.p, foot.n);
	} else {
		json_dump(&out->text, clean, 0);
	}
	buf_free(&foot);
	out->structured = clean;
	return out->text.failed ? err_nomem(e) : 0;
}
