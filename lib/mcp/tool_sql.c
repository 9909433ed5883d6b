/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool run_sql: queries the archive's tables and returns rows. What a statement may do is
 * decided in archive/ask.c; rows are limited there, and their text here.
 */
#include <math.h>
#include <stdio.h>

#include "lib/mcp/tool.h"

#define LIMIT	     1000
#define LIMIT_MAX    10000
#define BYTES_MAX    (4u << 20) /* of all values */
#define DOUBLE_HOLDS ((INT64_C(1) << 53) - 1)

static const struct answer_list lists[] = {
	{ .key = "rows", .more = "limit, or fewer columns" },
	{ 0 },
};

static void print_head(struct buf *out, struct json answer)
{
	struct json rows = json_get(answer, "rows");

	if (!json_length(rows)) {
		struct json columns = json_get(answer, "columns");

		token_budget_append_members(out, answer, "columns", "", "|");
		buf_puts(out, json_length(columns) ? "\nno rows\n" : "no rows\n");
		json_free(columns);
	}
	json_free(rows);
}

static void print_foot(struct buf *out, struct json answer)
{
	struct json truncated = json_get(answer, "truncated"),
		    partial = json_get(answer, "partial");

	if (json_is_true(truncated)) {
		buf_puts(out, "there are more rows than the limit of ");
		token_budget_append_member(out, answer, "limit");
		buf_puts(out, " (limit: up to 10000; or LIMIT … OFFSET)\n");
	}
	if (json_is_true(partial))
		buf_puts(out, "the recording was damaged or did not end cleanly: rows are of what "
			      "could be read\n");
	json_free(truncated);
	json_free(partial);
}

static const struct answer_layout layout = { print_head, lists, print_foot };

struct taker {
	struct archive_answer answer; /* first: the question gives it back */
	struct json columns, rows;
	size_t bytes;
	const struct request_ctx *rctx;
};

static int on_columns(struct archive_answer *a, const char *const *names, unsigned n, struct err *e)
{
	struct taker *t = (struct taker *)a;

	for (unsigned i = 0; i < n; i++)
		json_append(&t->columns, json_text(names[i]));
	return 0;
}

static struct json json_of_value(const struct archive_value *v)
{
	struct buf text = { 0 };
	struct json made;

	switch (v->type) {
	case ARCHIVE_INTEGER:
		if (v->integer >= -DOUBLE_HOLDS && v->integer <= DOUBLE_HOLDS)
			return json_number((double)v->integer);
		buf_printf(&text, "%lld", (long long)v->integer);
		break;
	case ARCHIVE_REAL:
		return json_number(v->real);
	case ARCHIVE_TEXT:
		return json_string(v->bytes);
	case ARCHIVE_BLOB:
		for (size_t i = 0; i < v->bytes.n && i < 512; i++)
			buf_printf(&text, "%02x", (unsigned char)v->bytes.p[i]);
		buf_puts(&text, v->bytes.n > 512 ? "…" : "");
		break;
	default:
		return json_null();
	}
	made = json_string(buf_bytes(&text));
	buf_free(&text);
	return made;
}

static int on_row(struct archive_answer *a, const struct archive_value *v, unsigned n,
		  struct err *e)
{
	struct taker *t = (struct taker *)a;
	struct json row = json_array();

	for (unsigned i = 0; i < n; i++) {
		t->bytes += v[i].bytes.n + 8;
		json_append(&row, json_of_value(&v[i]));
	}
	json_append(&t->rows, row);
	if (t->bytes > BYTES_MAX)
		return err_set(
			e, ERR_LIMIT,
			"the answer is larger than 4 MiB: ask for fewer rows or shorter values");
	return 0;
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	struct taker t = { .answer = { on_columns, on_row }, .rctx = rctx };
	struct archive_asked asked = { 0 };
	const char *sql = NULL;
	struct tool_call c;
	uint64_t limit;
	int rc = tool_begin(&c, ctx, rctx, args, out, true, e);

	rc = rc ? rc : tool_args_text(&c.args, "query", &sql, e);
	if (!rc && !sql)
		rc = err_set(e, ERR_USAGE, "query is missing: a SELECT");
	limit = c.args.top_given && c.args.top ? c.args.top : LIMIT;
	limit = limit < LIMIT_MAX ? limit : LIMIT_MAX;
	t.columns = json_array();
	t.rows = json_array();
	rc = rc ? rc : store_source_sql(c.source, rctx, sql, limit, &t.answer, &asked, e);
	if (!rc) {
		struct json o = json_object();

		json_set(&o, "columns", t.columns);
		json_set(&o, "rows", t.rows);
		tool_set_number(&o, "row_count", (double)asked.rows);
		tool_set_number(&o, "limit", (double)limit);
		json_set(&o, "truncated", json_bool(asked.truncated));
		if (asked.partial)
			json_set(&o, "partial", json_bool(true));
		rc = tool_answer(&c, o, &layout, e);
	} else {
		json_free(t.columns);
		json_free(t.rows);
		if (rc == ERR_USAGE)
			err_prefix(e, "query");
	}
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_run_sql = {
	.name = "run_sql",
	.title = "Ask in SQL",
	.description = "One SELECT over the recording (SQLite, read-only, 30 s). Main view "
		       "named_events(timestamp ns UTC, pid, tid, "
		       "source_name, op_name, duration ns, ret_code, …); causal_chains, "
		       "stack_traces, system_snapshots, processes; "
		       "all columns: resource ingero://schema. The first question about an .ige "
		       "file builds its archive.",
	.input_schema = ARGS_SCHEMA_REQUIRED(
		"\"query\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":65536,"
		"\"description\":\"One SELECT, WITH or "
		"EXPLAIN statement\"}," ARGS_LIMIT("10000", "Rows at most [1000]") "," ARGS_FORM
										   "," ARGS_JQ,
		"\"query\""),
	.output_schema = TOOL_OUTPUT(
		"\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		"\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\"}},\"row_count\":{"
		"\"type\":\"integer\"},"
		"\"limit\":{\"type\":\"integer\"},\"truncated\":{\"type\":\"boolean\"},"
		"\"partial\":{\"type\":\"boolean\"}"),
	.call = call_tool,
};
