/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are written one by one, as long as there is room for them; a list is then cut to those. The
 * head is never cut: a budget is for lists.
 */
#include "lib/mcp/token_budget.h"

#include "lib/mcp/sanitize_text.h"
#include "lib/mcp/token_budget_internal.h"

#define JSON_TOKENS 70 /* a note as JSON */

/* ---- lists ---- */

struct filler {
	struct buf *text;
	bool columns;	 /* else JSON: rows are only weighed */
	uint64_t left;	 /* tokens */
	unsigned behind; /* lists behind this one that have rows */
	struct json notes;
};

static uint64_t note_tokens(const struct filler *f)
{
	return f->columns ? TOKEN_BUDGET_NOTE : JSON_TOKENS;
}

/* Subtracts cost from the tokens left, if it fits; more: other rows follow. */
static bool reserve_tokens(struct filler *f, uint64_t cost, bool more)
{
	uint64_t kept = (more || f->behind ? TOKEN_BUDGET_NOTES : 0) +
			(uint64_t)(f->behind + more) * TOKEN_BUDGET_NOTE;

	if (cost + kept > f->left)
		return false;
	f->left -= cost;
	return true;
}

static void fill_list(struct filler *f, struct json *answer, const struct answer_list *l,
		      const struct tool_args *args)
{
	struct json rows = json_get(*answer, l->key), kept = json_array();
	size_t n = json_length(rows), i = 0, most = n;
	uint64_t top = l->top && args->top_given ? args->top : l->top_default;
	struct token_budget_rows as;
	struct buf head = { 0 }, line = { 0 };
	bool fits = true;

	if (top && top < most)
		most = top;
	if (f->columns)
		token_budget_rows_begin(&as, &head, l, *answer, rows);
	f->text->failed |= head.failed;
	for (; i < most && fits; i++) {
		struct json row = json_at(rows, i);

		buf_reset(&line);
		/* A head without a row says nothing. */
		if (i == 0)
			buf_add(&line, head.p, head.n);
		if (f->columns)
			token_budget_rows_write(&as, &line, row, i);
		else
			json_dump(&line, row, 0);
		fits = reserve_tokens(f, token_budget_estimate(buf_bytes(&line)), i + 1 < n);
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
		token_budget_add_note(&f->notes, l, n - i, i < most, args->budget);
		f->left -= note_tokens(f) < f->left ? note_tokens(f) : f->left;
	}
	if (f->columns)
		token_budget_rows_end(&as);
	json_set(answer, l->key, kept);
	json_free(rows);
	buf_free(&head);
	buf_free(&line);
}

static void fill_lists(struct filler *f, struct json *answer, const struct answer_list *lists,
		       const struct tool_args *args)
{
	for (const struct answer_list *l = lists; l && l->key; l++) {
		struct json rows = json_get(*answer, l->key);

		f->behind += json_length(rows) != 0;
		json_free(rows);
	}
	for (const struct answer_list *l = lists; l && l->key; l++) {
		struct json rows = json_get(*answer, l->key);
		bool is = rows.is;

		f->behind -= json_length(rows) != 0;
		json_free(rows);
		if (is)
			fill_list(f, answer, l, args);
	}
}

/* ---- the answer ---- */

/* Of the answer as JSON, without its lists. */
static uint64_t frame_tokens(struct json answer, const struct answer_list *lists)
{
	struct json frame = json_object(), key, value;
	struct buf text = { 0 };
	uint64_t n;
	int at = 0;

	while (json_each(answer, &at, &key, &value)) {
		const struct answer_list *l = lists;

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
	n = token_budget_estimate(buf_bytes(&text));
	json_free(frame);
	buf_free(&text);
	return n;
}

/* What is wrong with what was read. */
static void put_warnings(struct buf *out, struct json answer)
{
	struct json warnings = json_get(answer, "warnings");

	if (json_bytes(warnings).n) {
		token_budget_append_value(out, warnings);
		buf_putc(out, '\n');
	}
	json_free(warnings);
}

int token_budget_write_answer(struct mcp_reply *out, struct json answer,
			      const struct answer_layout *layout, const struct tool_args *args,
			      const struct request_ctx *rctx, struct err *e)
{
	struct json clean = sanitize_json(answer);
	struct filler f = { .text = &out->text,
			    .columns = args->tsc,
			    .left = args->budget,
			    .notes = json_array() };
	struct buf foot = { 0 };
	uint64_t cost;
	int rc;

	json_free(answer);
	if (args->jq) {
		rc = token_budget_filter_answer(out, clean, args, rctx, e);
		json_free(clean);
		json_free(f.notes);
		return rc ? rc : out->text.failed ? err_nomem(e) : 0;
	}
	if (args->tsc && layout->head)
		layout->head(&out->text, clean);
	if (args->tsc)
		put_warnings(&out->text, clean);
	if (args->tsc && layout->foot)
		layout->foot(&foot, clean);
	cost = token_budget_estimate(buf_bytes(&out->text)) +
	       token_budget_estimate(buf_bytes(&foot));
	cost += args->tsc ? 0 : frame_tokens(clean, layout->lists);
	f.left -= cost < f.left ? cost : f.left;
	fill_lists(&f, &clean, layout->lists, args);
	if (json_length(f.notes))
		json_set(&clean, "left_out", f.notes);
	else
		json_free(f.notes);
	if (args->tsc) {
		struct json notes = json_get(clean, "left_out");

		token_budget_write_notes(&out->text, notes, args->budget);
		json_free(notes);
		buf_add(&out->text, foot.p, foot.n);
	} else {
		json_dump(&out->text, clean, 0);
	}
	buf_free(&foot);
	out->structured = clean;
	return out->text.failed ? err_nomem(e) : 0;
}
