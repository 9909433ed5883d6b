/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the tools share: the state behind them, and the families that stand in the
 * table (tools.c).
 */
#ifndef INGERO_MCP_TOOL_H
#define INGERO_MCP_TOOL_H

#include "lib/mcp/args.h"
#include "lib/mcp/token_budget.h"
#include "lib/store/source.h"
#include "lib/mcp/tools.h"

struct mcp_tools {
	struct mcp_tools_options opt;
	struct mcp_catalog catalog;
};

/* A call on its way. */
struct tool_call {
	struct mcp_tools *tools;
	struct store_source *source;
	const struct request_ctx *rctx;
	struct tool_args args;
	struct mcp_reply *out;
};

/* Reads the arguments that tools share. needs_source: ERR_CANNOT without a recording. To be ended
 * in any case. */
int tool_begin(struct tool_call *c, void *ctx, const struct request_ctx *rctx, struct json args,
	       struct mcp_reply *out, bool needs_source, struct err *e);
void tool_end(struct tool_call *c);
/* token_budget_write_answer of it. */
int tool_answer(struct tool_call *c, struct json answer, const struct answer_layout *layout,
		struct err *e);

/* Members of an object. */
void tool_set_text(struct json *o, const char *key, const char *text); /* NULL: none */
void tool_set_bytes(struct json *o, const char *key, struct bytes text);
void tool_set_number(struct json *o, const char *key, double x);
/* ns as microseconds, milliseconds, seconds: to the nanosecond, microsecond, millisecond. */
void tool_set_us(struct json *o, const char *key, uint64_t ns);
void tool_set_ms(struct json *o, const char *key, double ns);
void tool_set_s(struct json *o, const char *key, double ns);
/* A share as percent, with one digit behind the point, or three where it is less than one. */
void tool_set_percent(struct json *o, const char *key, double share);
/* How much was read, and what was wrong with it. */
void tool_set_quality(struct json *o, const struct store_quality *q);

/* Part of output schemas: members that every answer may have. */
#define TOOL_OUTPUT(properties)                                                               \
	"{\"type\":\"object\",\"properties\":{" properties                                    \
	",\"recording\":{\"type\":\"object\",\"description\":\"What was read\"},"             \
	"\"left_out\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"    \
	"\"list\":{\"type\":\"string\"},\"rows\":{\"type\":\"integer\"},"                     \
	"\"by\":{\"type\":\"string\"},\"how\":{\"type\":\"string\"}},\"required\":[\"list\"," \
	"\"rows\",\"how\"]}},"                                                                \
	"\"filtered\":{\"type\":\"array\",\"description\":\"With jq: what the filter made\"}}}"

extern const struct mcp_tool tool_trace_stats, tool_causal_chains, tool_stacks,
	tool_graph_lifecycle, tool_graph_frequency, tool_run_demo, tool_test_report, tool_check,
	tool_run_sql, tool_query_fleet, tool_compare_runs, tool_timeline, tool_explain_call;
extern const struct mcp_prompt tool_prompts[];
extern const struct mcp_resource tool_resources[];
int tool_complete(void *ctx, const char *of, const char *argument, const char *value,
		  struct json context, struct json *values, struct err *e);

#endif
