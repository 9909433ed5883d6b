/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that the tool files share: arguments, answers, and errors of a tool call. */
#include "lib/mcp/tool.h"

#include <math.h>
#include <string.h>

int tool_begin(struct tool_call *c, void *ctx, const struct request_ctx *rctx, struct json args,
	       struct mcp_reply *out, bool needs_source, struct err *e)
{
	struct mcp_tools *t = ctx;
	int rc;

	*c = (struct tool_call){ .tools = t, .source = t->opt.source, .rctx = rctx, .out = out };
	rc = tool_args_read(&c->args, args, e);
	if (!rc && needs_source && !c->source)
		rc = err_set(
			e, ERR_CANNOT,
			"no recording is served: start the server with one (ingero-mcp run.ige; "
			"ingero-record writes them, ingero-demo incident -o run.ige generates "
			"one)");
	return rc;
}

void tool_end(struct tool_call *c)
{
	tool_args_free(&c->args);
}

int tool_answer(struct tool_call *c, struct json answer, const struct answer_layout *layout,
		struct err *e)
{
	return token_budget_write_answer(c->out, answer, layout, &c->args, c->rctx, e);
}

void tool_set_text(struct json *o, const char *key, const char *text)
{
	if (text)
		json_set(o, key, json_text(text));
}

void tool_set_bytes(struct json *o, const char *key, struct bytes text)
{
	if (text.n)
		json_set(o, key, json_string(text));
}

void tool_set_number(struct json *o, const char *key, double x)
{
	json_set(o, key, json_number(x));
}

void tool_set_us(struct json *o, const char *key, uint64_t ns)
{
	json_set(o, key, json_number((double)ns / 1e3));
}

void tool_set_ms(struct json *o, const char *key, double ns)
{
	json_set(o, key, json_number(round(ns / 1e3) / 1e3));
}

void tool_set_s(struct json *o, const char *key, double ns)
{
	json_set(o, key, json_number(round(ns / 1e6) / 1e3));
}

void tool_set_percent(struct json *o, const char *key, double share)
{
	double x = share * 100;

	json_set(o, key, json_number(x >= 1 ? round(x * 10) / 10 : round(x * 1000) / 1000));
}

void tool_set_quality(struct json *o, const struct store_quality *q)
{
	if (q->input.growing)
		json_set(o, "growing", json_bool(true));
	if (q->input.growing && q->age_ns > 1000000000)
		tool_set_s(o, "age_s", (double)q->age_ns);
	if (q->notes && *q->notes) {
		size_t n = strlen(q->notes);

		while (n && q->notes[n - 1] == '\n')
			n--;
		tool_set_bytes(o, "warnings", (struct bytes){ q->notes, n });
	}
}
