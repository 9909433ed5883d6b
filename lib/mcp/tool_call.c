/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call, taken apart: where each part of its time went, and to whom.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/event/part.h"
#include "lib/mcp/tool.h"

static void frame_text(struct buf *out, struct json row, size_t at)
{
	token_budget_append_value(out, row);
	buf_putc(out, '\n');
}

/* Whole microseconds of what is kept in milliseconds: shorter, and no digit is lost. */
static void put_us(struct buf *out, struct json row, const char *key)
{
	struct json ms = json_get(row, key);

	token_budget_append_number(out, round(json_double(ms, 0) * 1e3));
	json_free(ms);
}

/* "4973|woken, waiting for a busy CPU|4933 log-compactor (pid 5301), 40 kworker/0:1 (pid 61)" */
static void part_text_row(struct buf *out, struct json row, size_t at)
{
	struct json takers = json_get(row, "takers");

	put_us(out, row, "ms");
	buf_putc(out, '|');
	token_budget_append_member(out, row, "state");
	for (size_t i = 0; i < json_length(takers); i++) {
		struct json t = json_at(takers, i);

		buf_puts(out, i ? ", " : "|");
		put_us(out, t, "ms");
		buf_putc(out, ' ');
		token_budget_append_member(out, t, "who");
		json_free(t);
	}
	buf_putc(out, '\n');
	json_free(takers);
}

/* "2|5251|2 woken, waiting for a busy CPU, log-compactor (pid 5301)" */
static void inner_text_row(struct buf *out, struct json row, size_t at)
{
	static const char *const more[] = { "who", "error" };

	put_us(out, row, "at_ms");
	buf_putc(out, '|');
	token_budget_append_member(out, row, "us");
	buf_putc(out, '|');
	token_budget_append_member(out, row, "depth");
	buf_putc(out, ' ');
	token_budget_append_member(out, row, "what");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		struct json v = json_get(row, more[i]);

		if (v.is) {
			buf_puts(out, ", ");
			token_budget_append_value(out, v);
		}
		json_free(v);
	}
	buf_putc(out, '\n');
}

static const struct answer_list lists[] = {
	{ .key = "parts", .title = "us|state|taken by", .row = part_text_row },
	{ .key = "inside",
	  .title = "inside, at us|us|depth",
	  .row = inner_text_row,
	  .total = "inside_found",
	  .more = "limit",
	  .top = true,
	  .top_default = 25 },
	{ .key = "stack", .title = "from", .row = frame_text, .more = "a larger budget" },
	{ 0 },
};

static void print_head(struct buf *out, struct json answer)
{
	struct json error = json_get(answer, "error"), pid = json_get(answer, "pid"),
		    tid = json_get(answer, "tid"), returned = json_get(answer, "returned");

	/* The call's name begins with its thread. */
	token_budget_append_member(out, answer, "op");
	buf_putc(out, ' ');
	token_budget_append_member(out, answer, "call");
	buf_puts(out, " of ");
	token_budget_append_member(out, answer, "process");
	if (json_double(pid, 0) != json_double(tid, 0)) {
		buf_puts(out, " (pid ");
		token_budget_append_value(out, pid);
		buf_putc(out, ')');
	}
	buf_puts(out, " took ");
	token_budget_append_member(out, answer, "ms");
	buf_puts(out, " ms at ");
	token_budget_append_member(out, answer, "start_s");
	buf_puts(out, json_is_true(returned) ? " s" : " s and had not returned");
	if (json_bytes(error).n) {
		buf_puts(out, "; returned ");
		token_budget_append_value(out, error);
	}
	buf_putc(out, '\n');
	json_free(error);
	json_free(pid);
	json_free(tid);
	json_free(returned);
}

static const struct answer_layout layout = { print_head, lists, NULL };

/* At most eight: those that took most (attrib/parts.h). */
static struct json takers_of(const struct call_detail *d, enum part part)
{
	struct json takers = json_array();

	for (size_t i = 0; i < d->takers.n; i++) {
		struct json row;

		if (d->takers.v[i].part != part)
			continue;
		row = json_object();
		tool_set_bytes(&row, "who", d->takers.v[i].who);
		tool_set_ms(&row, "ms", (double)d->takers.v[i].ns);
		json_append(&takers, row);
	}
	return takers;
}

/* The longest first; each with who took it. */
static struct json part_rows(const struct call_detail *d)
{
	double all = d->end_ns > d->start_ns ? (double)(d->end_ns - d->start_ns) : 1;
	struct json parts = json_array();
	bool written[PART_COUNT] = { 0 };

	for (;;) {
		unsigned longest = PART_COUNT;
		struct json row, takers;

		for (unsigned i = 0; i < PART_COUNT; i++)
			if (!written[i] && d->part_ns[i] &&
			    (longest == PART_COUNT || d->part_ns[i] > d->part_ns[longest]))
				longest = i;
		if (longest == PART_COUNT)
			return parts;
		written[longest] = true;
		row = json_object();
		takers = takers_of(d, (enum part)longest);
		tool_set_text(&row, "state", part_text((enum part)longest));
		tool_set_ms(&row, "ms", (double)d->part_ns[longest]);
		tool_set_percent(&row, "percent", (double)d->part_ns[longest] / all);
		if (json_length(takers))
			json_set(&row, "takers", takers);
		else
			json_free(takers);
		json_append(&parts, row);
	}
}

static struct json inner_rows(const struct call_detail *d)
{
	struct json rows = json_array();

	for (size_t i = 0; i < d->inner.n; i++) {
		const struct call_inner *x = &d->inner.v[i];
		struct json row = json_object();

		tool_set_ms(&row, "at_ms", (double)(x->start_ns - d->start_ns));
		tool_set_number(&row, "depth", x->depth);
		tool_set_text(&row, "what", x->op ? x->op->name : part_text(x->part));
		tool_set_us(&row, "us", x->dur_ns);
		tool_set_bytes(&row, "who", x->who);
		if (x->op && x->ret) {
			const char *name = event_error_name(x->op->source, x->ret);

			tool_set_text(&row, "error", name ? name : "failed");
		}
		json_append(&rows, row);
	}
	return rows;
}

static int write_answer(void *ctx, const struct store_call *found, struct err *e)
{
	const struct call_detail *d = found->found;
	struct json o, stack = json_array();
	struct tool_call *c = ctx;
	char id[48];

	if (!d) {
		json_free(stack);
		return err_set(e, ERR_CANNOT,
			       "there is no such call in the recording (THREAD@END as in other "
			       "answers, or an "
			       "operation, for its longest call)");
	}
	o = json_object();
	snprintf(id, sizeof(id), "%u@%lld", d->tid, (long long)d->end_ns);
	tool_set_text(&o, "call", id);
	tool_set_text(&o, "op", d->op->name);
	tool_set_bytes(&o, "process", d->process);
	tool_set_bytes(&o, "node", d->node);
	tool_set_number(&o, "pid", d->pid);
	tool_set_number(&o, "tid", d->tid);
	tool_set_ms(&o, "ms", (double)(d->end_ns - d->start_ns));
	json_set(&o, "start_s", json_number((double)(d->start_ns - found->start_ns) / 1e9));
	tool_set_ms(&o, "in_inner_calls_ms", (double)d->calls_ns);
	json_set(&o, "returned", json_bool(!d->open));
	tool_set_text(&o, "error", d->ret ? d->error ? d->error : "failed" : NULL);
	json_set(&o, "parts", part_rows(d));
	json_set(&o, "inside", inner_rows(d));
	tool_set_number(&o, "inside_found", (double)d->inner.n + (double)d->inner_left_out);
	for (size_t i = 0; i < d->stack.n; i++)
		json_append(&stack, json_string(d->stack.v[i]));
	json_set(&o, "stack", stack);
	tool_set_quality(&o, &found->quality);
	return tool_answer(c, o, &layout, e);
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	const char *id = NULL;
	struct tool_call c;
	int rc = tool_begin(&c, ctx, rctx, args, out, true, e);

	rc = rc ? rc : tool_args_text(&c.args, "call", &id, e);
	if (!rc && !id)
		rc = err_set(e, ERR_USAGE, "call is missing: THREAD@END, or an operation");
	rc = rc ? rc : store_source_call(c.source, rctx, id, write_answer, &c, e);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_explain_call = {
	.name = "explain_call",
	.title = "One call, taken apart",
	.description = "One call: each state its thread was in, who took the time, what ran "
		       "inside, and its stack. call is "
		       "THREAD@END as other answers give it, or an operation for its longest call.",
	.input_schema = ARGS_SCHEMA_REQUIRED(
		"\"call\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":200,\"description\":"
		"\"THREAD@END, or the name of "
		"an operation\"}," ARGS_LIMIT("256", "Things inside at most [25]") "," ARGS_FORM
										   "," ARGS_JQ,
		"\"call\""),
	.output_schema =
		TOOL_OUTPUT("\"call\":{\"type\":\"string\"},\"op\":{\"type\":\"string\"},\"pid\":{"
			    "\"type\":\"integer\"},"
			    "\"tid\":{\"type\":\"integer\"},\"ms\":{\"type\":\"number\"},\"start_"
			    "s\":{\"type\":\"number\"},"
			    "\"parts\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"inside\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"stack\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
	.call = call_tool,
};
