/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generated recording whose truth is known, analyzed on the spot: nothing runs, nothing is
 * written.
 */
#include <string.h>

#include "lib/query/chains.h"
#include "lib/mcp/chain_rows.h"
#include "lib/mcp/sanitize_text.h"
#include "lib/mcp/tool.h"
#include "lib/sim/sim.h"

#define SECONDS 10 /* generated, not waited for */

static const struct answer_column truth_columns[] = {
	{ "kind", NULL }, { "culprit", NULL }, { "lost_ms", NULL }, { "count", NULL }, { 0 }
};
static const struct answer_column scenario_columns[] = { { "scenario", NULL },
							 { "what_is_wrong", "what is wrong" },
							 { 0 } };
static const struct answer_list lists[] = {
	{ .key = "chains", .row = chain_row_append_text, .more = "top_n", .top_default = 10 },
	{ .key = "planted", .title = "planted:", .columns = truth_columns },
	{ .key = "scenarios", .columns = scenario_columns, .more = "a larger budget" },
	{ 0 },
};

static void print_head(struct buf *out, struct json answer)
{
	struct json scenario = json_get(answer, "scenario"), rows = json_get(answer, "chains");

	if (json_bytes(scenario).n) {
		token_budget_append_value(out, scenario);
		buf_puts(out, ": ");
		token_budget_append_member(out, answer, "what_is_wrong");
		buf_puts(out, " (generated, not recorded)\n");
		if (!json_length(rows)) {
			token_budget_append_member(out, answer, "verdict");
			buf_putc(out, '\n');
		}
	}
	json_free(scenario);
	json_free(rows);
}

static const struct answer_layout layout = { print_head, lists, NULL };

static struct json truths_of(const struct event_stream *s)
{
	struct json rows = json_array();
	unsigned n;
	const struct sim_truth *t = sim_truths(s, &n);

	for (unsigned i = 0; i < n; i++) {
		struct json o;

		if (!t[i].count)
			continue;
		o = json_object();
		tool_set_text(&o, "kind", t[i].kind);
		tool_set_text(&o, "culprit", t[i].culprit);
		tool_set_number(&o, "culprit_pid", t[i].culprit_pid);
		tool_set_ms(&o, "lost_ms", (double)t[i].lost_ns);
		tool_set_number(&o, "count", (double)t[i].count);
		json_append(&rows, o);
	}
	return rows;
}

static int analyze_scenario(struct tool_call *c, const struct sim_options *opt, struct json *o,
			    struct err *e)
{
	const struct query_chains *answer;
	struct query_chains_run *run = NULL;
	struct event_stream *s = NULL;
	struct world *w = world_new();
	struct json rows = json_array();
	struct stream_item item;
	int rc = w ? sim_open(&s, w, opt, e) : err_nomem(e);

	if (!rc && !(run = query_chains_new(w, NULL)))
		rc = err_nomem(e);
	while (!rc && (rc = s->next(s, &item, e)) > 0) {
		rc = query_chains_item(run, &item, e);
		if (!rc && request_ctx_should_stop(c->rctx))
			rc = err_set(e, ERR_INTERRUPTED, "interrupted");
	}
	rc = rc ? rc : query_chains_end(run, &answer, e);
	for (size_t i = 0; !rc && i < answer->list.v.n; i++)
		json_append(&rows, chain_row_new(&answer->list.v.v[i], false));
	if (!rc) {
		chain_rows_set_summary(o, answer, answer->list.v.n ? &answer->list.v.v[0] : NULL);
		json_set(o, "planted", truths_of(s));
		tool_set_number(o, "found", (double)answer->list.v.n);
		/* What the rows share with the analysis goes no further than here. */
		json_set(o, "chains", sanitize_json(rows));
	}
	json_free(rows);
	if (s)
		s->close(s);
	query_chains_free(run);
	world_free(w);
	return rc;
}

static struct json scenario_rows(void)
{
	struct json rows = json_array();
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);

	for (unsigned i = 0; i < n; i++) {
		struct json o = json_object();

		tool_set_text(&o, "scenario", s[i].name);
		tool_set_text(&o, "what_is_wrong", s[i].summary);
		json_append(&rows, o);
	}
	return rows;
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	struct sim_options opt;
	struct json o = json_object();
	const char *name = NULL;
	struct tool_call c;
	unsigned n;
	const struct sim_scenario *s = sim_scenarios(&n);
	int rc = tool_begin(&c, ctx, rctx, args, out, false, e);

	rc = rc ? rc : tool_args_text(&c.args, "scenario", &name, e);
	if (!rc && name && !strcmp(name, "list")) {
		json_set(&o, "scenarios", scenario_rows());
	} else if (!rc) {
		name = sim_scenario_name(name ? name : "incident");
		if (sim_scenario_options(name, &opt))
			rc = err_set(
				e, ERR_USAGE,
				"there is no scenario of that name (scenario: list names them)");
		opt.duration_ns = SECONDS * UINT64_C(1000000000);
		opt.seed = 1;
		rc = rc ? rc : analyze_scenario(&c, &opt, &o, e);
		for (unsigned i = 0; i < n && !rc; i++)
			if (!strcmp(s[i].name, name))
				tool_set_text(&o, "what_is_wrong", s[i].summary);
		if (!rc)
			tool_set_text(&o, "scenario", name);
	}
	if (!rc)
		rc = tool_answer(&c, o, &layout, e);
	else
		json_free(o);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_run_demo = {
	.name = "run_demo",
	.title = "A generated incident",
	.description = "Generates a recording of a known problem and says what the analysis finds "
		       "in it: nothing is run or "
		       "traced. scenario: incident, cold-start, memcpy-bottleneck, periodic-spike, "
		       "cpu-contention, gpu-steal "
		       "…; list names all.",
	.input_schema =
		ARGS_SCHEMA("\"scenario\":{\"type\":\"string\",\"maxLength\":64,\"description\":"
			    "\"Which [incident]; list: all there are\"}," ARGS_FORM "," ARGS_JQ),
	.output_schema =
		TOOL_OUTPUT("\"scenario\":{\"type\":\"string\"},\"what_is_wrong\":{\"type\":"
			    "\"string\"},\"verdict\":{\"type\":\"string\"},"
			    "\"found\":{\"type\":\"integer\"},\"chains\":{\"type\":\"array\","
			    "\"items\":" CHAIN_ROW_SCHEMA
			    "},\"planted\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"scenarios\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.call = call_tool,
};
