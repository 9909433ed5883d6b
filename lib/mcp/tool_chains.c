/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "What caused the stall?": where the steps of a program go, and the causes with line, culprit,
 * time and fix.
 */
#include "lib/query/select_chains.h"
#include "lib/report/report.h"
#include "lib/report/report_recording.h"
#include "lib/report/report_standing.h"
#include "lib/report/report_verdict.h"
#include "lib/mcp/chain_rows.h"
#include "lib/mcp/step_rows.h"
#include "lib/mcp/tool.h"

#define TOP 10

/* "1.40 s python3 (2 threads): waiting for another thread: load_batch (ranks.py:6) < train_rank
 * (ranks.py:12)" */
static void standing_text(struct buf *out, struct json row, size_t at)
{
	buf_puts(out, "stands: ");
	token_budget_append_member(out, row, "ms");
	buf_puts(out, " ms ");
	token_budget_append_member(out, row, "process");
	buf_puts(out, " (pid ");
	token_budget_append_member(out, row, "pids");
	buf_puts(out, ", ");
	token_budget_append_member(out, row, "threads");
	buf_puts(out, " threads): ");
	token_budget_append_member(out, row, "state");
	token_budget_append_members(out, row, "frames", ": ", " < ");
	buf_putc(out, '\n');
}

static const struct answer_list lists[] = {
	{ .key = "steps", .row = step_row_append_text, .more = "ingero-explain --json" },
	{ .key = "chains",
	  .row = chain_row_append_text,
	  .more = "top_n: 0 for all",
	  .top = true,
	  .top_default = TOP },
	{ .key = "standing", .row = standing_text, .more = "ingero-explain --json" },
	{ 0 },
};

static void print_foot(struct buf *out, struct json answer)
{
	struct json chains = json_get(answer, "chains");

	if (json_length(chains))
		buf_puts(
			out,
			"more of one: explain_call with its call, get_timeline at its id, resource "
			"ingero://chain/ID (timeline, stacks, evidence)\n");
	json_free(chains);
}

static const struct answer_layout layout = { chain_rows_append_head, lists, print_foot };

struct chosen_pids {
	uint32_t *v;
	unsigned n;
};

static int pids_of(const struct tool_args *a, struct chosen_pids *pids, struct err *e)
{
	pids->v = calloc(a->pids.n + 1, sizeof(*pids->v));
	if (!pids->v)
		return err_nomem(e);
	for (size_t i = 0; i < a->pids.n; i++)
		pids->v[pids->n++] = (uint32_t)strtoul(a->pids.v[i], NULL, 10);
	return 0;
}

/* Of a run that hangs: where its threads stand, the rarest place first. */
static void set_standing(struct json *o, const struct report *r, bool verdict)
{
	unsigned processes;
	struct json places = report_standing_places(r, &processes), rows = json_array();
	double before;

	for (size_t i = 0; i < json_length(places); i++) {
		struct json p = json_at(places, i), row = json_object(), v;

		v = json_get(p, "comm");
		json_set(&row, "process", v);
		json_set(&row, "pids", json_get(p, "pids"));
		json_set(&row, "threads", json_get(p, "threads"));
		v = json_get(p, "longest_ns");
		tool_set_ms(&row, "ms", json_double(v, 0));
		json_free(v);
		v = json_get(p, "part");
		tool_set_text(&row, "state", report_standing_state(json_bytes(v)));
		json_free(v);
		json_set(&row, "frames", json_get(p, "frames"));
		json_append(&rows, row);
		json_free(p);
	}
	json_free(places);
	if (verdict)
		tool_set_text(
			o, "verdict",
			report_has_uncovered(r, &before) || report_has_paused(r)
				? "no call is in the recording, and whether any was made is not "
				  "known: not all calls were recorded (see coverage)"
			: processes ? "no call was made: none began, and none returned. It "
				      "hangs, or has "
				      "nothing to do; what its threads wait for, the rarest first"
				    : "no call was made: none began, and none returned");
	json_set(o, "standing", rows);
}

/* What was asked for left none of them over: that is not that there is none. */
static void set_chosen_none(struct json *o, const struct report *r)
{
	size_t all = r->chains->v.n;
	struct buf verdict = { 0 };
	double calls;

	if (all)
		buf_printf(&verdict, "%zu cause%s found, none of them in what was asked for", all,
			   all == 1 ? " was" : "s were");
	else if (r->npids && !report_processes(r, &calls))
		buf_puts(&verdict,
			 "the recording holds no process of that number that made calls or waited");
	else
		return;
	json_set(o, "verdict", json_string(buf_bytes(&verdict)));
	buf_free(&verdict);
}

static int write_answer(void *ctx, const struct store_chains *found, struct err *e)
{
	struct tool_call *c = ctx;
	const struct query_chain_selection by = { c->args.nodes.v, c->args.nodes.n, c->args.names.v,
						  c->args.names.n };
	struct chosen_pids pids = { 0 };
	struct json o = json_object(), rows = json_array();
	const struct finding *first = NULL;
	struct report r = { 0 };
	int rc = query_select_chains(&found->answer->list, &by, e);
	size_t n = 0;

	rc = rc ? rc : pids_of(&c->args, &pids, e);
	r.chains = &found->answer->list;
	r.pids = pids.v;
	r.npids = pids.n;
	r.start_ns = found->answer->start_ns;
	for (size_t i = 0; i < found->answer->list.v.n && !rc; i++) {
		const struct finding *chain = &found->answer->list.v.v[i];
		struct json row;

		if (!report_selects(&r, chain))
			continue;
		first = first ? first : chain;
		row = chain_row_new(chain, false);
		chain_row_shift_time(&row, found->ahead_ns);
		step_rows_mark_outside(&row, &r, chain);
		json_append(&rows, row);
		n++;
	}
	chain_rows_set_summary(&o, found->answer, first);
	if (!first)
		set_chosen_none(&o, &r);
	/* Who asks for operations or machines asks for causes. */
	if (!c->args.names.n && !c->args.nodes.n)
		step_rows_set(&o, &r);
	json_set(&o, "chains", rows);
	if (report_no_calls(&r))
		set_standing(&o, &r, !first);
	tool_set_number(&o, "found", (double)n);
	tool_set_quality(&o, &found->quality);
	free(pids.v);
	if (!rc)
		return tool_answer(c, o, &layout, e);
	json_free(o);
	return rc;
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	struct tool_call c;
	int rc = tool_begin(&c, ctx, rctx, args, out, true, e);

	if (!rc) {
		const struct filter_words when = { .since = c.args.words.since,
						   .until = c.args.words.until };

		rc = store_source_chains(c.source, rctx, &when, false, write_answer, &c, e);
	}
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_causal_chains = {
	.name = "get_causal_chains",
	.title = "Causes of stalls",
	.description =
		"What caused GPU stalls, slow steps, slow calls and errors: where the time of a "
		"training step goes by line, and for each cause the culprit, "
		"the lines of code "
		"that waited, milliseconds lost, and the fix as a command. Call this first, "
		"without arguments, for "
		"\"what caused the stall?\".",
	.input_schema = ARGS_SCHEMA(ARGS_TIME "," ARGS_PIDS "," ARGS_OP "," ARGS_NODE "," ARGS_TOP(
		"Causes at most, 0 for all [10]") "," ARGS_FORM "," ARGS_JQ),
	.output_schema =
		TOOL_OUTPUT("\"verdict\":{\"type\":\"string\"},\"found\":{\"type\":\"integer\"},"
			    "\"steps\":" STEP_ROWS_SCHEMA
			    ",\"chains\":{\"type\":\"array\",\"items\":" CHAIN_ROW_SCHEMA
			    "},\"standing\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.call = call_tool,
};
