/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call, taken apart: where each part of its time went, and to whom.
 */
#include <stdio.h>
#include <string.h>

#include "lib/event/part.h"
#include "lib/serve/tool.h"

static const struct shape_column part_columns[] = {
	{ "state", NULL }, { "ms", NULL }, { "percent", "%" }, { 0 }
};
static const struct shape_column taker_columns[] = {
	{ "who", NULL }, { "state", NULL }, { "ms", NULL }, { 0 }
};
static const struct shape_column inner_columns[] = { { "at_ms", "at" },
						     { "depth", NULL },
						     { "what", NULL },
						     { "us", NULL },
						     { "who", NULL },
						     { "error", NULL },
						     { 0 } };

static void frame_text(struct buf *out, struct json row, size_t at)
{
	shape_value(out, row);
	buf_putc(out, '\n');
}

static const struct shape_list lists[] = {
	{ .key = "parts", .title = "time:", .columns = part_columns },
	{ .key = "takers", .title = "taken by:", .columns = taker_columns, .top_default = 20 },
	{ .key = "inside",
	  .title = "inside (ms after its start):",
	  .columns = inner_columns,
	  .total = "inside_found",
	  .more = "limit",
	  .top = true,
	  .top_default = 25 },
	{ .key = "stack", .title = "from:", .row = frame_text, .more = "a larger budget" },
	{ 0 },
};

static void head(struct buf *out, struct json answer)
{
	struct json error = json_get(answer, "error");

	shape_member(out, answer, "op");
	buf_puts(out, " of ");
	shape_member(out, answer, "process");
	buf_puts(out, " (pid ");
	shape_member(out, answer, "pid");
	buf_puts(out, ", tid ");
	shape_member(out, answer, "tid");
	buf_puts(out, ") took ");
	shape_member(out, answer, "ms");
	buf_puts(out, " ms at ");
	shape_member(out, answer, "start_s");
	buf_puts(out, " s; call ");
	shape_member(out, answer, "call");
	if (json_bytes(error).n) {
		buf_puts(out, "; returned ");
		shape_value(out, error);
	}
	buf_putc(out, '\n');
	json_free(error);
}

static const struct shape shape = { head, lists, NULL };

static void set_parts(struct json *o, const struct call_detail *d)
{
	double all = d->end_ns > d->start_ns ? (double)(d->end_ns - d->start_ns) : 1;
	struct json parts = json_array(), takers = json_array();

	for (unsigned i = 0; i < PART_COUNT; i++) {
		struct json row;

		if (!d->part_ns[i])
			continue;
		row = json_object();
		tool_set_text(&row, "state", part_text((enum part)i));
		tool_set_ms(&row, "ms", (double)d->part_ns[i]);
		tool_set_percent(&row, "percent", (double)d->part_ns[i] / all);
		json_append(&parts, row);
	}
	for (size_t i = 0; i < d->takers.n; i++) {
		struct json row = json_object();

		tool_set_bytes(&row, "who", d->takers.v[i].who);
		tool_set_text(&row, "state", part_text(d->takers.v[i].part));
		tool_set_ms(&row, "ms", (double)d->takers.v[i].ns);
		json_append(&takers, row);
	}
	json_set(o, "parts", parts);
	json_set(o, "takers", takers);
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

static int answer(void *ctx, const struct serve_call *found, struct err *e)
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
	set_parts(&o, d);
	json_set(&o, "inside", inner_rows(d));
	tool_set_number(&o, "inside_found", (double)d->inner.n + (double)d->inner_left_out);
	for (size_t i = 0; i < d->stack.n; i++)
		json_append(&stack, json_string(d->stack.v[i]));
	json_set(&o, "stack", stack);
	return tool_answer(c, o, &shape, e);
}

static int call(void *ctx, const struct serve_asker *asker, struct json args,
		struct serve_answer *out, struct err *e)
{
	const char *id = NULL;
	struct tool_call c;
	int rc = tool_begin(&c, ctx, asker, args, out, true, e);

	rc = rc ? rc : serve_args_text(&c.args, "call", &id, e);
	if (!rc && !id)
		rc = err_set(e, ERR_USAGE, "call is missing: THREAD@END, or an operation");
	rc = rc ? rc : serve_source_call(c.source, asker, id, answer, &c, e);
	tool_end(&c);
	return rc;
}

const struct serve_tool tool_explain_call = {
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
			    "\"takers\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"inside\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"stack\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
	.call = call,
};
