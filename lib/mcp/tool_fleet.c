/* SPDX-License-Identifier: Apache-2.0 */
/* Other nodes, asked through this server: only those it was given when it was started. */
#include <string.h>

#include "lib/mcp/sanitize_text.h"
#include "lib/fleet/fleet.h"
#include "lib/mcp/tool.h"

#define ROWS 1000

static const struct answer_column op_columns[] = { { "op", NULL },	    { "source", "src" },
						   { "count", "n" },	    { "errors", "err" },
						   { "p50_us", "p50us" },   { "p95_us", "p95us" },
						   { "p99_us", "p99us" },   { "max_us", "maxus" },
						   { "total_ms", "totms" }, { "nodes", NULL },
						   { "note", NULL },	    { 0 } };

/* What other machines say of a cause: ours and the older agent's names. */
static void chain_text(struct buf *out, struct json row, size_t at)
{
	static const char *const keys[][2] = {
		{ "severity", " " }, { "node", " on " }, { "summary", ": " }, { "root_cause", "; " }
	};

	buf_printf(out, "%zu.", at + 1);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct json v = json_get(row, keys[i][0]);

		if (json_bytes(v).n) {
			buf_puts(out, keys[i][1]);
			token_budget_append_value(out, v);
		}
		json_free(v);
	}
	buf_putc(out, '\n');
}

static void node_text(struct buf *out, struct json row, size_t at)
{
	json_dump(out, row, 0);
	buf_putc(out, '\n');
}

static const struct answer_list lists[] = {
	{ .key = "chains", .row = chain_text, .more = "limit", .top = true, .top_default = 20 },
	{ .key = "ops", .columns = op_columns, .more = "limit", .top = true, .top_default = 40 },
	{ .key = "rows", .more = "limit, or fewer columns" },
	{ .key = "overview", .row = node_text, .more = "a larger budget" },
	{ 0 },
};

static void print_head(struct buf *out, struct json answer)
{
	struct json warnings = json_get(answer, "warnings");

	for (size_t i = 0; i < json_length(warnings); i++) {
		struct json v = json_at(warnings, i);

		buf_puts(out, "warning: ");
		token_budget_append_value(out, v);
		buf_putc(out, '\n');
		json_free(v);
	}
	token_budget_append_member(out, answer, "nodes_answered");
	buf_puts(out, " of ");
	token_budget_append_member(out, answer, "nodes");
	buf_puts(out, " nodes answered\n");
	json_free(warnings);
}

static void print_foot(struct buf *out, struct json answer)
{
	struct json truncated = json_get(answer, "truncated");

	if (json_is_true(truncated))
		buf_puts(out,
			 "some node has more rows than the limit (limit: up to 10000; or LIMIT … "
			 "OFFSET)\n");
	json_free(truncated);
}

static const struct answer_layout layout = { print_head, lists, print_foot };

static bool is_stopped(void *ctx)
{
	return request_ctx_should_stop(ctx);
}

static struct json op_rows(const struct fleet_ops *ops)
{
	struct json rows = json_array();

	for (size_t i = 0; i < ops->v.n; i++) {
		const struct fleet_op *x = &ops->v.v[i];
		struct json o = json_object();

		tool_set_text(&o, "op", x->operation);
		tool_set_text(&o, "source", x->source);
		tool_set_number(&o, "count", (double)x->count);
		tool_set_number(&o, "errors", (double)x->errors);
		tool_set_number(&o, "p50_us", x->p50_ns / 1e3);
		tool_set_number(&o, "p95_us", x->p95_ns / 1e3);
		tool_set_number(&o, "p99_us", x->p99_ns / 1e3);
		tool_set_number(&o, "max_us", x->max_ns / 1e3);
		tool_set_ms(&o, "total_ms", x->total_ns);
		tool_set_number(&o, "nodes", (double)x->nodes);
		tool_set_text(&o, "note", x->approximate ? "quantiles of the slowest node" : NULL);
		json_append(&rows, o);
	}
	return rows;
}

/* One question; its list goes into o. */
static int ask_nodes(struct fleet *f, const struct tool_call *c, const char *action,
		     const char *sql, struct json *o, struct err *e)
{
	struct json list = JSON_NONE;
	int rc;

	if (!strcmp(action, "sql")) {
		struct fleet_rows rows = { 0 };

		if (!sql)
			return err_set(e, ERR_USAGE, "query is missing: a SELECT");
		rc = fleet_query_sql(f, sql, c->args.top_given && c->args.top ? c->args.top : ROWS,
				     &rows, e);
		if (rc)
			return rc;
		json_set(o, "columns", sanitize_json(rows.columns));
		json_set(o, "rows", sanitize_json(rows.rows));
		json_set(o, "truncated", json_bool(rows.truncated));
		fleet_rows_free(&rows);
		return 0;
	}
	if (!strcmp(action, "ops")) {
		struct fleet_ops ops = { 0 };

		rc = fleet_query_ops(f, c->args.words.since, &ops, e);
		if (!rc)
			json_set(o, "ops", op_rows(&ops));
		fleet_ops_free(&ops);
		return rc;
	}
	if (!strcmp(action, "chains"))
		rc = fleet_query_chains(f, c->args.words.since, &list, e);
	else
		rc = fleet_query_overview(f, c->args.words.since, &list, e);
	if (!rc)
		json_set(o, !strcmp(action, "chains") ? "chains" : "overview", list);
	return rc;
}

static void set_warnings(struct json *o, struct fleet *f)
{
	const struct buf *text = fleet_warnings(f);
	struct json lines = json_array();
	size_t all, answered = 0;
	const struct fleet_node *nodes = fleet_nodes(f, &all);

	for (size_t from = 0, to; from < text->n; from = to + 1) {
		for (to = from; to < text->n && text->p[to] != '\n'; to++)
			;
		if (to > from)
			json_append(&lines,
				    json_string((struct bytes){ text->p + from, to - from }));
	}
	for (size_t i = 0; i < all; i++)
		answered += nodes[i].answered;
	json_set(o, "warnings", lines);
	tool_set_number(o, "nodes", (double)all);
	tool_set_number(o, "nodes_answered", (double)answered);
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	const char *action = NULL, *sql = NULL, *query = NULL;
	struct fleet_options opt;
	struct fleet *f = NULL;
	struct json o = json_object();
	struct tool_call c;
	bool is_sql;
	int rc = tool_begin(&c, ctx, rctx, args, out, false, e);

	rc = rc ? rc : tool_args_text(&c.args, "action", &action, e);
	rc = rc ? rc : tool_args_text(&c.args, "query", &query, e);
	rc = rc ? rc : tool_args_text(&c.args, "sql", &sql, e);
	if (!rc && (!action || (strcmp(action, "chains") != 0 && strcmp(action, "ops") != 0 &&
				strcmp(action, "overview") != 0 && strcmp(action, "sql") != 0)))
		rc = err_set(e, ERR_USAGE, "action is chains, ops, overview or sql");
	is_sql = !rc && !strcmp(action, "sql");
	if (!rc && !is_sql && (query || sql))
		rc = err_set(e, ERR_USAGE, "query is for action sql");
	if (is_sql && c.args.words.since)
		rc = err_set(e, ERR_USAGE, "since is not for action sql: choose in its WHERE");
	if (!rc && (!c.tools->opt.fleet || !c.tools->opt.fleet->nnodes))
		rc = err_set(
			e, ERR_CANNOT,
			"this server was given no other nodes (ingero-mcp --nodes a:8080,b:8080); "
			"recordings of several machines can also be served together");
	if (!rc) {
		opt = *c.tools->opt.fleet;
		opt.stop = is_stopped;
		opt.stop_ctx = (void *)rctx;
		rc = fleet_new(&f, &opt, e);
	}
	/* Clocks of those that answered: what is found wrong is a warning. */
	rc = rc ? rc : ask_nodes(f, &c, action, query ? query : sql, &o, e);
	rc = rc ? rc : fleet_compare_clocks(f, e);
	if (!rc) {
		set_warnings(&o, f);
		rc = tool_answer(&c, o, &layout, e);
	} else {
		json_free(o);
	}
	fleet_free(f);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_query_fleet = {
	.name = "query_fleet",
	.title = "Ask other nodes",
	.description = "Causes, operations, overview or SQL of all nodes this server was given, "
		       "merged; nodes that do not "
		       "answer and clocks that differ are warnings.",
	.input_schema = ARGS_SCHEMA_REQUIRED(
		"\"action\":{\"type\":\"string\",\"enum\":[\"chains\",\"ops\",\"overview\",\"sql\"]"
		",\"description\":\"What is "
		"asked\"},\"query\":{\"type\":\"string\",\"maxLength\":65536,\"description\":"
		"\"With sql: one SELECT\"},"
		"\"sql\":{\"type\":\"string\",\"maxLength\":65536,\"description\":\"The "
		"same\"}," ARGS_SINCE "," ARGS_LIMIT("10000", "Rows at most") "," ARGS_FORM
									      "," ARGS_JQ,
		"\"action\""),
	.output_schema = TOOL_OUTPUT(
		"\"nodes\":{\"type\":\"integer\"},\"nodes_answered\":{\"type\":\"integer\"},"
		"\"warnings\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		"\"chains\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
		"\"ops\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
		"\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		"\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\"}},"
		"\"overview\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.call = call_tool,
	.open_world = true,
};
