/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two of the recordings that were given: what got slower, and which causes came. Only those can be
 * named.
 */
#include <string.h>

#include "lib/query/compare_query.h"
#include "lib/query/diff_query.h"
#include "lib/input/input.h"
#include "lib/mcp/tool.h"

#define TOP 15

static const struct answer_column cause_columns[] = { { "change", NULL },
						      { "kind", NULL },
						      { "before_ms_per_s", "before ms/s" },
						      { "after_ms_per_s", "after ms/s" },
						      { "summary", NULL },
						      { 0 } };
static const struct answer_column op_columns[] = { { "op", NULL },
						   { "before_count", "n before" },
						   { "after_count", "after" },
						   { "before_p50_us", "p50us before" },
						   { "after_p50_us", "after" },
						   { "before_p99_us", "p99us before" },
						   { "after_p99_us", "after" },
						   { "before_ms_per_s", "ms/s before" },
						   { "after_ms_per_s", "after" },
						   { "after_errors", "err after" },
						   { 0 } };
static const struct answer_list lists[] = {
	{ .key = "causes",
	  .title = "causes:",
	  .columns = cause_columns,
	  .more = "top_n: 0 for all",
	  .top = true,
	  .top_default = TOP },
	{ .key = "ops",
	  .title = "operations, by how much their time per second changed:",
	  .columns = op_columns,
	  .more = "top_n: 0 for all",
	  .top = true,
	  .top_default = TOP },
	{ 0 },
};

static void print_head(struct buf *out, struct json answer)
{
	token_budget_append_member(out, answer, "before");
	buf_puts(out, " (");
	token_budget_append_member(out, answer, "before_seconds");
	buf_puts(out, " s) to ");
	token_budget_append_member(out, answer, "after");
	buf_puts(out, " (");
	token_budget_append_member(out, answer, "after_seconds");
	buf_puts(out, " s): ");
	token_budget_append_member(out, answer, "worse");
	buf_puts(out, " causes worse, ");
	token_budget_append_member(out, answer, "better");
	buf_puts(out, " better\n");
}

static const struct answer_layout layout = { print_head, lists, NULL };

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* One of the inputs, by its path, its last part, or its number from 1. */
static int find_input(const struct tool_call *c, const char *key, const char *said,
		      unsigned otherwise, const char **name, struct err *e)
{
	unsigned n, found = 0;
	const char *const *names = store_source_names(c->source, &n);
	double number = tool_args_number(&c->args, key, 0);

	*name = NULL;
	if (!said && number >= 1 && number <= n)
		*name = names[(unsigned)number - 1];
	else if (!said && otherwise < n && number == 0)
		*name = names[otherwise];
	for (unsigned i = 0; said && i < n; i++) {
		if (strcmp(said, names[i]) != 0 && strcmp(said, base_of(names[i])) != 0)
			continue;
		*name = names[i];
		found++;
	}
	if (found > 1)
		return err_set(e, ERR_USAGE, "%s: several recordings are called that", key);
	if (!*name)
		return err_set(
			e, ERR_USAGE,
			"%s: that is none of the recordings of this server (they are named by "
			"their file names)",
			key);
	return 0;
}

static struct json cause_rows(const struct diff *d, unsigned *worse, unsigned *better)
{
	struct json rows = json_array();

	for (size_t i = 0; i < d->causes.n; i++) {
		const struct diff_cause *c = &d->causes.v[i];
		const struct diff_cause_side *a = &c->side[DIFF_BEFORE], *b = &c->side[DIFF_AFTER];
		struct json o = json_object();

		*worse += c->worse;
		*better += c->better;
		tool_set_text(&o, "change",
			      !a->known	  ? "new"
			      : !b->known ? "gone"
			      : c->worse  ? "worse"
			      : c->better ? "better"
					  : "same");
		tool_set_bytes(&o, "kind", c->kind);
		tool_set_ms(&o, "before_ms_per_s", a->known ? a->lost_per_s : 0);
		tool_set_ms(&o, "after_ms_per_s", b->known ? b->lost_per_s : 0);
		tool_set_bytes(&o, "summary", b->known ? b->summary : a->summary);
		json_append(&rows, o);
	}
	return rows;
}

static struct json op_rows(const struct diff *d)
{
	struct json rows = json_array();

	for (size_t i = 0; i < d->ops.n; i++) {
		const struct diff_op *x = &d->ops.v[i];
		struct json o = json_object();

		tool_set_text(&o, "op", x->op->name);
		tool_set_number(&o, "before_count", (double)x->count[DIFF_BEFORE]);
		tool_set_number(&o, "after_count", (double)x->count[DIFF_AFTER]);
		tool_set_us(&o, "before_p50_us", x->p50_ns[DIFF_BEFORE]);
		tool_set_us(&o, "after_p50_us", x->p50_ns[DIFF_AFTER]);
		tool_set_us(&o, "before_p99_us", x->p99_ns[DIFF_BEFORE]);
		tool_set_us(&o, "after_p99_us", x->p99_ns[DIFF_AFTER]);
		tool_set_ms(&o, "before_ms_per_s",
			    diff_per_s(d, DIFF_BEFORE, x->total_ns[DIFF_BEFORE]));
		tool_set_ms(&o, "after_ms_per_s",
			    diff_per_s(d, DIFF_AFTER, x->total_ns[DIFF_AFTER]));
		tool_set_number(&o, "before_errors", (double)x->errors[DIFF_BEFORE]);
		tool_set_number(&o, "after_errors", (double)x->errors[DIFF_AFTER]);
		json_append(&rows, o);
	}
	return rows;
}

/* notes: what was wrong with either. */
static int write_answer(struct tool_call *c, const struct diff *d, const struct buf *notes,
			struct err *e)
{
	const struct store_quality quality = { .notes = buf_text(notes) };
	unsigned worse = 0, better = 0;
	struct json o = json_object();

	tool_set_text(&o, "before", base_of(d->name[DIFF_BEFORE]));
	tool_set_text(&o, "after", base_of(d->name[DIFF_AFTER]));
	tool_set_s(&o, "before_seconds", (double)d->wall_ns[DIFF_BEFORE]);
	tool_set_s(&o, "after_seconds", (double)d->wall_ns[DIFF_AFTER]);
	json_set(&o, "causes", cause_rows(d, &worse, &better));
	json_set(&o, "ops", op_rows(d));
	tool_set_number(&o, "worse", worse);
	tool_set_number(&o, "better", better);
	tool_set_quality(&o, &quality);
	return tool_answer(c, o, &layout, e);
}

/* How far both are together. */
struct reading {
	const struct request_ctx *rctx;
	unsigned side;
};

static int report_progress(void *ctx, struct input *in, struct err *e)
{
	const struct reading *r = ctx;
	uint64_t done, total, events;

	if (request_ctx_should_stop(r->rctx))
		return err_set(e, ERR_INTERRUPTED, "interrupted");
	input_position(in, &done, &total, &events);
	request_ctx_progress(r->rctx, r->side + (total ? (double)done / (double)total : 0),
			     DIFF_SIDES, "reading two recordings");
	return 0;
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	static const char *const keys[DIFF_SIDES] = { "before", "after" };
	struct query_diff_source *sides[DIFF_SIDES] = { NULL };
	const char *names[DIFF_SIDES];
	bool named[DIFF_SIDES];
	struct buf notes = { 0 };
	struct diff d = { 0 };
	struct tool_call c;
	unsigned n = 0;
	int rc = tool_begin(&c, ctx, rctx, args, out, true, e);

	if (!rc)
		store_source_names(c.source, &n);
	if (!rc && n < 2)
		rc = err_set(e, ERR_CANNOT,
			     "one recording is served: start the server with two to compare them "
			     "(ingero-mcp before.ige after.ige)");
	for (unsigned i = 0; i < DIFF_SIDES && !rc; i++) {
		const char *said = NULL;

		rc = tool_args_text(&c.args, keys[i], &said, e);
		rc = rc ? rc : find_input(&c, keys[i], said, i, &names[i], e);
		named[i] = said || tool_args_number(&c.args, keys[i], 0) != 0;
	}
	/* Where one is named the other is another. */
	for (unsigned i = 0; i < DIFF_SIDES && !rc; i++)
		if (!named[i] && names[0] == names[1])
			rc = find_input(&c, keys[i], NULL, !i, &names[i], e);
	for (unsigned i = 0; i < DIFF_SIDES && !rc; i++) {
		const struct filter_words when = { .since = c.args.words.since,
						   .until = c.args.words.until };
		struct reading reading = { rctx, i };
		const struct query_diff_options want = { .causes = true,
							 .between = report_progress,
							 .ctx = &reading };

		rc = query_diff_read(&sides[i], names[i], &when, &want, e);
		if (!rc)
			query_diff_damaged(sides[i], &notes);
	}
	rc = rc ? rc : query_diff(&d, sides, e);
	rc = rc ? rc : write_answer(&c, &d, &notes, e);
	buf_free(&notes);
	query_diff_free(&d);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		query_diff_source_free(sides[i]);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_compare_runs = {
	.name = "compare_runs",
	.title = "Compare two recordings",
	.description = "Two recordings of this server, before and after: causes that came, went, "
		       "got worse or better, and "
		       "operations by how much they changed, per second of wall time.",
	.input_schema = ARGS_SCHEMA(
		"\"before\":{\"type\":\"string\",\"maxLength\":4096,\"description\":"
		"\"File name of one [the first, or the second where after is the first]\"},"
		"\"after\":{\"type\":\"string\",\"maxLength\":4096,\"description\":"
		"\"File name of the other [the second, or the first where before is the "
		"second]\"}," ARGS_TIME "," ARGS_TOP("Rows at most, 0 for all [15]") "," ARGS_FORM
										     "," ARGS_JQ),
	.output_schema =
		TOOL_OUTPUT("\"before\":{\"type\":\"string\"},\"after\":{\"type\":\"string\"},"
			    "\"before_seconds\":{\"type\":\"number\"},"
			    "\"after_seconds\":{\"type\":\"number\"},\"worse\":{\"type\":"
			    "\"integer\"},\"better\":{\"type\":\"integer\"},"
			    "\"causes\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"ops\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.call = call_tool,
};
