/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats the rows of an SQL query as a table, JSON or CSV. Integers that a double cannot hold are
 * text in JSON, blobs are hexadecimal everywhere, and NULL is an empty cell, or null in JSON.
 */
#include "lib/archive/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/csvcell.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"

#define DOUBLE_HOLDS ((INT64_C(1) << 53) - 1)
#define FLUSH	     65536
#define CELL_MAX     200 /* bytes of a text in a table */

struct cell {
	size_t at; /* in texts */
	bool number;
};

struct answer {
	struct archive_answer taker; /* first: the question gives it back to us */
	enum answer_form form;
	bool color, begun;
	unsigned columns, n;
	answer_put *put;
	struct buf out;
	struct jsonw json;
	/* of a table, until all rows are there */
	struct buf texts;
	VEC(struct cell) cells; /* the header first */
};

static void put_hex(struct buf *out, struct bytes blob)
{
	for (size_t i = 0; i < blob.n; i++)
		buf_printf(out, "%02x", (unsigned char)blob.p[i]);
}

static int flush_output(struct answer *a, size_t most, struct err *e)
{
	int rc = 0;

	if (a->out.failed || a->texts.failed)
		return err_nomem(e);
	if (a->out.n > most) {
		rc = a->put(&a->out, e);
		buf_reset(&a->out);
	}
	return rc;
}

/* ---- JSON ---- */

void answer_value_json(struct jsonw *j, const struct archive_value *v)
{
	struct buf text = { 0 };

	switch (v->type) {
	case ARCHIVE_NULL:
		jsonw_null(j);
		break;
	case ARCHIVE_INTEGER:
		if (v->integer >= -DOUBLE_HOLDS && v->integer <= DOUBLE_HOLDS) {
			jsonw_i64(j, v->integer);
			break;
		}
		buf_printf(&text, "%" PRId64, v->integer);
		jsonw_bytes(j, buf_bytes(&text));
		break;
	case ARCHIVE_REAL:
		jsonw_double(j, v->real);
		break;
	case ARCHIVE_TEXT:
		jsonw_bytes(j, v->bytes);
		break;
	case ARCHIVE_BLOB:
		put_hex(&text, v->bytes);
		jsonw_bytes(j, buf_bytes(&text));
		break;
	}
	buf_free(&text);
}

static void json_begin(struct answer *a, const char *const *names, unsigned n)
{
	jsonw_init(&a->json, &a->out, false);
	jsonw_object_begin(&a->json);
	jsonw_key_str(&a->json, "schema", "ingero.query/1");
	jsonw_key_array(&a->json, "columns");
	for (unsigned i = 0; i < n; i++)
		jsonw_str(&a->json, names[i]);
	jsonw_array_end(&a->json);
	jsonw_key_array(&a->json, "rows");
}

static void json_row(struct answer *a, const struct archive_value *values, unsigned n)
{
	buf_putc(&a->out, '\n');
	jsonw_array_begin(&a->json);
	for (unsigned i = 0; i < n; i++)
		answer_value_json(&a->json, &values[i]);
	jsonw_array_end(&a->json);
}

/* ---- CSV ---- */

static void csv_row(struct answer *a, const struct archive_value *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (i)
			buf_putc(&a->out, ',');
		if (values[i].type == ARCHIVE_TEXT)
			csv_cell(&a->out, values[i].bytes, true);
		else if (values[i].type == ARCHIVE_INTEGER)
			buf_printf(&a->out, "%" PRId64, values[i].integer);
		else if (values[i].type == ARCHIVE_REAL)
			buf_printf(&a->out, "%.17g", values[i].real);
		else
			put_hex(&a->out, values[i].bytes);
	}
	buf_puts(&a->out, "\r\n");
}

/* ---- a table ---- */

static int add_cell(struct answer *a, struct cell cell, struct err *e)
{
	buf_putc(&a->texts, '\0');
	return vec_push(&a->cells, cell) ? 0 : err_nomem(e);
}

static int table_row(struct answer *a, const struct archive_value *values, unsigned n,
		     struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++) {
		const struct archive_value *v = &values[i];
		struct cell cell = { a->texts.n,
				     v->type == ARCHIVE_INTEGER || v->type == ARCHIVE_REAL };
		struct bytes cut = { v->bytes.p, v->bytes.n < CELL_MAX ? v->bytes.n : CELL_MAX };

		if (v->type == ARCHIVE_INTEGER)
			buf_printf(&a->texts, "%" PRId64, v->integer);
		else if (v->type == ARCHIVE_REAL)
			buf_printf(&a->texts, "%.6g", v->real);
		else if (v->type == ARCHIVE_BLOB)
			put_hex(&a->texts, cut);
		else if (v->type == ARCHIVE_TEXT)
			fmt_safe(&a->texts, cut);
		if (cut.n < v->bytes.n)
			buf_puts(&a->texts, "...");
		rc = add_cell(a, cell, e);
	}
	return rc;
}

static const char *cell_text(const struct answer *a, size_t i)
{
	return a->texts.p + a->cells.v[i].at;
}

/* Columns in which every value is a number stand at the right, their decimal points below each
 * other. */
static int table_end(struct answer *a, struct err *e)
{
	size_t rows = a->n ? a->cells.n / a->n : 0;
	struct buf names = { 0 };
	const char **headers = calloc(a->n + 1, sizeof(*headers));
	size_t *at = calloc(a->n + 1, sizeof(*at));
	struct table *t = NULL;

	if (headers && at && !a->texts.failed) {
		for (unsigned i = 0; i < a->n; i++) {
			bool numbers = rows > 1;

			for (size_t r = 1; r < rows && numbers; r++)
				numbers = a->cells.v[r * a->n + i].number ||
					  !*cell_text(a, r * a->n + i);
			at[i] = names.n;
			buf_printf(&names, "%s%s", numbers ? ">" : "", cell_text(a, i));
			buf_putc(&names, '\0');
		}
		for (unsigned i = 0; i < a->n && !names.failed; i++)
			headers[i] = names.p + at[i];
		t = names.failed ? NULL : table_new(headers);
	}
	for (size_t i = a->n; t && i < a->cells.n; i++)
		table_cell(t, "%s", cell_text(a, i));
	if (t)
		table_align_decimals(t);
	if (t)
		table_fold(&a->out, t, 0, a->color, a->columns);
	table_free(t);
	buf_free(&names);
	free(headers);
	free(at);
	return t ? 0 : err_nomem(e);
}

/* ---- all forms ---- */

static int on_columns(struct archive_answer *taker, const char *const *names, unsigned n,
		      struct err *e)
{
	struct answer *a = (struct answer *)taker;
	int rc = 0;

	a->n = n;
	a->begun = true;
	if (a->form == ANSWER_JSON)
		json_begin(a, names, n);
	for (unsigned i = 0; i < n && a->form != ANSWER_JSON && !rc; i++) {
		if (a->form == ANSWER_CSV) {
			if (i)
				buf_putc(&a->out, ',');
			csv_cell(&a->out, bytes_of(names[i]), true);
		} else {
			struct cell cell = { a->texts.n, false };

			fmt_safe(&a->texts, bytes_of(names[i]));
			rc = add_cell(a, cell, e);
		}
	}
	if (a->form == ANSWER_CSV)
		buf_puts(&a->out, "\r\n");
	return rc;
}

static int on_row(struct archive_answer *taker, const struct archive_value *values, unsigned n,
		  struct err *e)
{
	struct answer *a = (struct answer *)taker;

	switch (a->form) {
	case ANSWER_JSON:
		json_row(a, values, n);
		break;
	case ANSWER_CSV:
		csv_row(a, values, n);
		break;
	case ANSWER_TABLE:
		if (table_row(a, values, n, e))
			return e->code;
		break;
	}
	return flush_output(a, FLUSH, e);
}

struct answer *answer_new(enum answer_form form, bool color, unsigned columns, answer_put *put)
{
	struct answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->taker = (struct archive_answer){ on_columns, on_row };
	a->form = form;
	a->color = color;
	a->columns = columns;
	a->put = put;
	return a;
}

struct archive_answer *answer_taker(struct answer *a)
{
	return &a->taker;
}

int answer_end(struct answer *a, bool truncated, struct err *e)
{
	int rc = 0;

	if (a->begun && a->form == ANSWER_JSON) {
		jsonw_array_end(&a->json);
		jsonw_key_bool(&a->json, "truncated", truncated);
		jsonw_object_end(&a->json);
		buf_putc(&a->out, '\n');
	} else if (a->begun && a->form == ANSWER_TABLE) {
		rc = table_end(a, e);
	}
	return rc ? rc : flush_output(a, 0, e);
}

void answer_free(struct answer *a)
{
	if (!a)
		return;
	buf_free(&a->out);
	buf_free(&a->texts);
	vec_free(&a->cells);
	free(a);
}
