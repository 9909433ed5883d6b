/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often and how long: of everything at once from the columns alone, of what is chosen event by
 * event.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/event/groups.h"
#include "lib/mcp/tool.h"

#define TOP 25

static const struct answer_column op_columns[] = { { "op", NULL },
						   { "source", "src" },
						   { "count", "n" },
						   { "errors", "err" },
						   { "p50_us", "p50us" },
						   { "p95_us", "p95us" },
						   { "p99_us", "p99us" },
						   { "max_us", "maxus" },
						   { "total_ms", "totms" },
						   { "wall_percent", "w%" },
						   { "lost_ms", "lostms" },
						   { "flags", NULL },
						   { 0 } };
static const struct answer_column by_columns[] = { { "key", NULL },
						   { "name", NULL },
						   { "node", NULL },
						   { "count", "n" },
						   { "errors", "err" },
						   { "p50_us", "p50us" },
						   { "p99_us", "p99us" },
						   { "max_us", "maxus" },
						   { "total_ms", "totms" },
						   { "own_ms", "ownms" },
						   { "wall_percent", "w%" },
						   { "lost_ms", "lostms" },
						   { 0 } };
static const struct answer_column error_columns[] = {
	{ "op", NULL }, { "error", NULL }, { "count", "n" }, { 0 }
};
static const struct answer_column process_columns[] = { { "pid", NULL },
							{ "name", NULL },
							{ "node", NULL },
							{ "threads", "thr" },
							{ "calls", NULL },
							{ "errors", "err" },
							{ "in_calls_ms", "callms" },
							{ "lost_ms", "lostms" },
							{ 0 } };
static const struct answer_column metric_columns[] = { { "metric", NULL }, { "node", NULL },
						       { "mean", NULL },   { "max", NULL },
						       { "last", NULL },   { 0 } };

static const struct answer_list lists[] = {
	{ .key = "ops",
	  .columns = op_columns,
	  .more = "top_n: 0 for all, or op",
	  .top = true,
	  .top_default = TOP },
	{ .key = "rows",
	  .columns = by_columns,
	  .more = "top_n: 0 for all",
	  .top = true,
	  .top_default = TOP },
	{ .key = "errors",
	  .title = "errors:",
	  .columns = error_columns,
	  .top_default = 20,
	  .more = "op" },
	{ .key = "processes",
	  .title = "processes:",
	  .columns = process_columns,
	  .top_default = 20,
	  .more = "pid" },
	{ .key = "system", .title = "system:", .columns = metric_columns },
	{ 0 },
};

static void print_head(struct buf *out, struct json answer)
{
	struct json r = json_get(answer, "recording"), lost = json_get(r, "lost_events");

	token_budget_append_member(out, r, "selected");
	buf_puts(out, " of ");
	token_budget_append_member(out, r, "events");
	buf_puts(out, " events over ");
	token_budget_append_member(out, r, "seconds");
	buf_puts(out, " s");
	if (json_double(lost, 0) > 0) {
		buf_puts(out, ", ");
		token_budget_append_value(out, lost);
		buf_puts(out, " lost");
	}
	buf_putc(out, '\n');
	json_free(r);
	json_free(lost);
}

static const struct answer_layout layout = { print_head, lists, NULL };

static int by_total(const void *x, const void *y)
{
	const struct ops_row *a = *(const struct ops_row *const *)x,
			     *b = *(const struct ops_row *const *)y;

	if (a->all.total_ns != b->all.total_ns)
		return a->all.total_ns < b->all.total_ns ? 1 : -1;
	return a->op->id < b->op->id ? -1 : 1;
}

/* Where calls were recorded for a part of the time. */
static void set_estimate(struct json *o, uint64_t counted, const struct estimate *all)
{
	if (all->least)
		json_set(o, "at_least", json_bool(true));
	if (!all->is)
		return;
	tool_set_number(o, "estimated_count", (double)all->count);
	tool_set_ms(o, "estimated_total_ms", (double)all->total_ns);
	tool_set_percent(o, "recorded_percent", (double)counted / (double)all->count);
}

static struct json op_row(const struct ops_row *r, double wall, bool brief)
{
	unsigned flags = ops_row_flags(r);
	struct json o = json_object();

	tool_set_text(&o, "op", r->op->name);
	tool_set_text(&o, "source", r->op->source_name);
	tool_set_number(&o, "count", (double)r->count);
	tool_set_number(&o, "errors", (double)r->errors);
	set_estimate(&o, r->count, &r->all);
	if (r->op->track != TRACK_INSTANT) {
		tool_set_us(&o, "p50_us", r->p50_ns);
		tool_set_us(&o, "p95_us", r->p95_ns);
		tool_set_us(&o, "p99_us", r->p99_ns);
		tool_set_us(&o, "max_us", r->max_ns);
		tool_set_ms(&o, "total_ms", (double)r->total_ns);
		tool_set_percent(&o, "wall_percent", wall ? (double)r->all.total_ns / wall : 0);
		if (!brief)
			tool_set_ms(&o, "lost_ms", (double)r->lost_ns);
	}
	if (flags & OPS_FLAG_TAIL)
		tool_set_text(&o, "flags", "long tail");
	return o;
}

static int set_ops(struct json *o, const struct ops_summary *s, double wall, struct err *e)
{
	const struct ops_row **sorted = calloc(s->rows.n + 1, sizeof(*sorted));
	struct json rows = json_array();

	if (!sorted) {
		json_free(rows);
		return err_nomem(e);
	}
	for (size_t i = 0; i < s->rows.n; i++)
		sorted[i] = &s->rows.v[i];
	qsort(sorted, s->rows.n, sizeof(*sorted), by_total);
	for (size_t i = 0; i < s->rows.n; i++)
		json_append(&rows, op_row(sorted[i], wall, s->brief));
	free(sorted);
	json_set(o, "ops", rows);
	return 0;
}

static struct json by_rows(const struct world *w, const struct by_table *t, double wall)
{
	struct json rows = json_array();

	for (size_t i = 0; i < t->rows.n; i++) {
		const struct by_row *r = &t->rows.v[i];
		struct json o = json_object();

		if (r->kind == BY_KNOWN)
			tool_set_bytes(&o, "key", world_text(w, r->key));
		else
			tool_set_text(&o, "key", by_kind_name(r->kind));
		tool_set_bytes(&o, "name", world_text(w, r->name));
		tool_set_bytes(&o, "node", world_text(w, r->node));
		tool_set_number(&o, "count", (double)r->count);
		tool_set_number(&o, "errors", (double)r->errors);
		set_estimate(&o, r->count, &r->all);
		tool_set_us(&o, "p50_us", r->p50_ns);
		tool_set_us(&o, "p99_us", r->p99_ns);
		tool_set_us(&o, "max_us", r->max_ns);
		tool_set_ms(&o, "total_ms", (double)r->total_ns);
		tool_set_ms(&o, "own_ms", (double)r->self_ns);
		tool_set_percent(&o, "wall_percent", wall ? (double)r->all.total_ns / wall : 0);
		tool_set_ms(&o, "lost_ms", (double)r->lost_ns);
		json_append(&rows, o);
	}
	return rows;
}

static struct json error_rows(const struct ops_summary *s)
{
	struct json rows = json_array();

	for (size_t i = 0; i < s->errors.n; i++) {
		const struct ops_error *x = &s->errors.v[i];
		const char *name = event_error_name(x->op->source, x->ret);
		struct json o = json_object();
		char number[24];

		snprintf(number, sizeof(number), "%d", (int)x->ret);
		tool_set_text(&o, "op", x->op->name);
		tool_set_text(&o, "error", name ? name : number);
		tool_set_number(&o, "count", (double)x->count);
		json_append(&rows, o);
	}
	return rows;
}

static struct json process_rows(const struct world *w, const struct ops_summary *s)
{
	struct json rows = json_array();

	for (size_t i = 0; i < s->processes.n; i++) {
		const struct ops_process *p = &s->processes.v[i];
		const struct world_process *who = world_get_process(w, p->process);
		const struct world_node *node =
			who && s->nodes > 1 ? world_get_node(w, who->node) : NULL;
		struct json o = json_object();

		tool_set_number(&o, "pid", who ? who->tgid : 0);
		tool_set_bytes(&o, "name",
			       world_text(w,
					  world_process_name(w, p->process, p->image, INT64_MAX)));
		if (node)
			tool_set_bytes(&o, "node", world_text(w, node->name));
		tool_set_number(&o, "threads", (double)p->threads);
		tool_set_number(&o, "calls", (double)p->calls);
		set_estimate(&o, p->calls, &p->all);
		tool_set_number(&o, "errors", (double)p->errors);
		tool_set_ms(&o, "in_calls_ms", (double)p->in_calls_ns);
		tool_set_ms(&o, "lost_ms", (double)p->lost_ns);
		json_append(&rows, o);
	}
	return rows;
}

/* Gauges of the node: what counters say is in the causes. */
static struct json metric_rows(const struct world *w, const struct ops_summary *s)
{
	struct json rows = json_array();

	for (size_t i = 0; i < s->metrics.n; i++) {
		const struct ops_metric *m = &s->metrics.v[i];
		const struct metric_def *def = metric_builtin(m->metric);
		const struct world_node *node = s->nodes > 1 ? world_get_node(w, m->node) : NULL;
		struct json o;

		if (def->counter)
			continue;
		o = json_object();
		if (node)
			tool_set_bytes(&o, "node", world_text(w, node->name));
		tool_set_text(&o, "metric", def->name);
		tool_set_number(&o, "mean", m->sum / (double)m->n);
		tool_set_number(&o, "max", m->max);
		tool_set_number(&o, "last", m->last);
		json_append(&rows, o);
	}
	return rows;
}

static int write_answer(void *ctx, const struct store_stat *st, struct err *e)
{
	const struct ops_summary *s = st->ops;
	double wall = s->end_ns > s->start_ns ? (double)(s->end_ns - s->start_ns) : 0;
	struct json o = json_object(), r = json_object();
	struct tool_call *c = ctx;
	int rc = 0;

	tool_set_number(&r, "events", (double)s->events);
	tool_set_number(&r, "selected", (double)s->selected);
	tool_set_number(&r, "lost_events", (double)s->lost);
	tool_set_s(&r, "seconds", wall);
	tool_set_number(&r, "open_calls", (double)s->open);
	json_set(&r, "complete", json_bool(s->complete));
	json_set(&o, "recording", r);
	if (s->by) {
		tool_set_text(&o, "by", by_key_name(s->by->key));
		json_set(&o, "rows", by_rows(st->w, s->by, wall));
	} else {
		rc = set_ops(&o, s, wall, e);
	}
	json_set(&o, "errors", error_rows(s));
	json_set(&o, "processes", process_rows(st->w, s));
	json_set(&o, "system", metric_rows(st->w, s));
	tool_set_quality(&o, &st->quality);
	if (!rc)
		return tool_answer(c, o, &layout, e);
	json_free(o);
	return rc;
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	struct store_stat_request want = { .brief = true };
	struct tool_call c;
	int rc = tool_begin(&c, ctx, rctx, args, out, true, e);

	rc = rc ? rc : tool_args_text(&c.args, "by", &want.by, e);
	if (!rc) {
		enum by_key key;

		want.words = c.args.words;
		/* Lost and own time, processes: what counting columns cannot tell. */
		want.brief = !tool_args_bool(&c.args, "lost_time", false);
		if (want.by && !by_key_find(want.by, &key))
			rc = err_set(e, ERR_USAGE, "there is no key '%s' to tell calls apart by",
				     want.by);
	}
	rc = rc ? rc : store_source_stat(c.source, rctx, &want, write_answer, &c, e);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_trace_stats = {
	.name = "get_trace_stats",
	.title = "Statistics of operations",
	.description = "How often and how long: per CUDA, driver, NCCL and host operation the "
		       "count, errors, p50/p95/p99, "
		       "maximum, total and share of wall time; "
		       "by=pid|line|stack|kernel|size|rank|… for other rows.",
	.input_schema = ARGS_SCHEMA(
		ARGS_TIME "," ARGS_PIDS "," ARGS_OP "," ARGS_NODE ","
			  "\"by\":{\"type\":\"string\",\"enum\":[\"op\",\"pid\",\"thread\","
			  "\"stack\",\"line\",\"kernel\",\"size\","
			  "\"direction\",\"stream\",\"device\",\"cgroup\",\"pod\",\"container\","
			  "\"node\",\"rank\",\"step\"],"
			  "\"description\":\"Rows by this instead of operations\"},"
			  "\"lost_time\":{\"type\":\"boolean\",\"description\":\"Also time lost to "
			  "the host, and processes: reads "
			  "every event [false]\"}," ARGS_TOP(
				  "Rows at most, 0 for all [25]") "," ARGS_FORM "," ARGS_JQ),
	.output_schema =
		TOOL_OUTPUT("\"by\":{\"type\":\"string\"},"
			    "\"ops\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
			    "\"properties\":{\"op\":{\"type\":\"string\"},"
			    "\"source\":{\"type\":\"string\"},\"count\":{\"type\":\"integer\"},"
			    "\"errors\":{\"type\":\"integer\"},"
			    "\"p50_us\":{\"type\":\"number\"},\"p95_us\":{\"type\":\"number\"},"
			    "\"p99_us\":{\"type\":\"number\"},"
			    "\"max_us\":{\"type\":\"number\"},\"total_ms\":{\"type\":\"number\"},"
			    "\"wall_percent\":{\"type\":\"number\"},"
			    "\"lost_ms\":{\"type\":\"number\"},\"flags\":{\"type\":\"string\"}},"
			    "\"required\":[\"op\",\"count\"]}},"
			    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"errors\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"processes\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
			    "\"system\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.call = call_tool,
};
