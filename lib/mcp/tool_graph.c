/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA graphs: what became of them in time, and how often each is launched. A graph is known by its
 * handle in its process. A handle that is given out again is another graph, as far as it was seen
 * to be destroyed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/mcp/tool.h"
#include "lib/world/who.h"

#define STEPS_MAX \
	2000 /* of a life that are kept: what makes, changes and ends graphs, and first launches */
#define GRAPHS_MAX   65536
#define STEPS_SHOWN  50
#define GRAPHS_SHOWN 30

struct graph {
	uint64_t handle;
	uint32_t pid;
	uint64_t launches, dur_ns;
	int64_t made_ns, first_ns, last_ns, gone_ns; /* made, gone: INT64_MIN when not seen */
};

struct step {
	int64_t t_ns;
	uint64_t dur_ns, handle;
	const struct op_def *op;
	uint32_t pid;
	int32_t ret;
	bool first; /* launch of it */
};

struct graphs {
	struct tool_call *c;
	bool frequency;
	VEC(struct graph) v;
	VEC(struct step) steps;
	struct map by;
	uint64_t counts[8], nsteps, beyond;
	int64_t start_ns, end_ns;
};

enum what { LAUNCH, INSTANTIATE, UPDATE, DESTROY, CAPTURE, CAPTURED, CREATE, OTHER };
static const char *const what_names[] = { "launches",  "instantiated",	 "updated",
					  "destroyed", "captures begun", "captures ended",
					  "created",   "other" };

/* The driver's call inside the runtime's is the same thing once more. */
static enum what what_of(const struct op_def *op)
{
	const char *name = op->name;

	if (strstr(name, "GraphLaunch"))
		return LAUNCH;
	if (strstr(name, "GraphInstantiate"))
		return INSTANTIATE;
	if (strstr(name, "GraphExecUpdate"))
		return UPDATE;
	if (strstr(name, "Destroy"))
		return DESTROY;
	if (strstr(name, "BeginCapture"))
		return CAPTURE;
	if (strstr(name, "EndCapture"))
		return CAPTURED;
	if (strstr(name, "GraphCreate") || strstr(name, "GraphClone"))
		return CREATE;
	return OTHER;
}

static struct graph *graph_of(struct graphs *g, uint32_t process, uint32_t pid, uint64_t handle,
			      bool made)
{
	uint64_t key = hash_u64(handle ^ (uint64_t)process << 48), at;

	if (!made && map_get(&g->by, key, &at))
		return &g->v.v[at];
	if (g->v.n == GRAPHS_MAX) {
		g->beyond++;
		return NULL;
	}
	at = g->v.n;
	if (!vec_push(&g->v, (struct graph){ .handle = handle,
					     .pid = pid,
					     .made_ns = INT64_MIN,
					     .gone_ns = INT64_MIN }) ||
	    !map_put(&g->by, key, at))
		return NULL;
	return &g->v.v[at];
}

static void add_event(struct graphs *g, const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);
	const struct who who = who_of(w, ev->ctx, ev->end_ns);
	uint32_t pid = who.process ? who.process->tgid : 0;
	enum what what;
	struct graph *x = NULL;
	uint64_t handle = 0;
	bool first = false, exec;

	if (!op || (op->source == SOURCE_DRIVER && ev->depth > 0))
		return;
	what = what_of(op);
	exec = event_get(ev, op, COL_EXEC, &handle);
	if (!exec)
		event_get(ev, op, COL_GRAPH, &handle);
	if (!g->counts[what]++ && g->start_ns == INT64_MIN)
		g->start_ns = event_start(ev);
	if (exec && handle && !(what == INSTANTIATE && ev->ret))
		x = graph_of(g, who.process_id, pid, handle, what == INSTANTIATE);
	if (x && what == LAUNCH) {
		first = x->launches++ == 0;
		x->first_ns = first ? event_start(ev) : x->first_ns;
		x->last_ns = ev->end_ns;
		x->dur_ns += ev->dur_ns;
	}
	if (x && what == INSTANTIATE)
		x->made_ns = ev->end_ns;
	if (x && what == DESTROY && !ev->ret)
		x->gone_ns = ev->end_ns;
	if (what == LAUNCH && !first && !ev->ret)
		return;
	g->nsteps++;
	if (g->steps.n < STEPS_MAX)
		(void)vec_push(&g->steps, (struct step){ event_start(ev), ev->dur_ns, handle, op,
							 pid, ev->ret, first });
}

/* ---- life ---- */

static const struct answer_column step_columns[] = {
	{ "t_s", "t_s" }, { "pid", NULL },  { "op", NULL }, { "handle", NULL },
	{ "us", NULL },	  { "note", NULL }, { 0 }
};
static const struct answer_list life_lists[] = {
	{ .key = "steps",
	  .columns = step_columns,
	  .total = "steps_found",
	  .more = "limit: up to 1000, or since and until",
	  .top = true,
	  .top_default = STEPS_SHOWN },
	{ 0 },
};

static void life_head(struct buf *out, struct json answer)
{
	struct json counts = json_get(answer, "counts"), key, value;
	bool any = false;
	int at = 0;

	while (json_each(counts, &at, &key, &value)) {
		if (json_double(value, 0) > 0) {
			buf_puts(out, any ? ", " : "");
			token_budget_append_value(out, value);
			buf_putc(out, ' ');
			token_budget_append_value(out, key);
			any = true;
		}
		json_free(key);
		json_free(value);
	}
	buf_puts(out, any ? "\n" : "no graph operations were recorded in what was asked for\n");
	json_free(counts);
}

static const struct answer_layout life_layout = { life_head, life_lists, NULL };

static struct json build_lifecycle(const struct graphs *g, int64_t zero)
{
	struct json o = json_object(), rows = json_array(), counts = json_object();

	for (unsigned i = 0; i < 8; i++)
		tool_set_number(&counts, what_names[i], (double)g->counts[i]);
	for (size_t i = 0; i < g->steps.n; i++) {
		const struct step *s = &g->steps.v[i];
		struct json row = json_object();
		char hex[24];

		snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)s->handle);
		json_set(&row, "t_s", json_number((double)(s->t_ns - zero) / 1e9));
		tool_set_number(&row, "pid", s->pid);
		tool_set_text(&row, "op", s->op->name);
		tool_set_text(&row, "handle", s->handle ? hex : NULL);
		tool_set_us(&row, "us", s->dur_ns);
		if (s->ret) {
			const char *name = event_error_name(s->op->source, s->ret);

			tool_set_text(&row, "note", name ? name : "failed");
		} else if (s->first) {
			tool_set_text(&row, "note", "first launch");
		}
		json_append(&rows, row);
	}
	json_set(&o, "counts", counts);
	tool_set_number(&o, "steps_found", (double)g->nsteps);
	json_set(&o, "steps", rows);
	return o;
}

/* ---- frequency ---- */

static const struct answer_column graph_columns[] = {
	{ "pid", NULL },     { "handle", NULL },    { "launches", NULL },
	{ "per_s", "perS" }, { "avg_us", "avgus" }, { "class", NULL },
	{ "made_s", NULL },  { "gone_s", NULL },    { 0 }
};
static const struct answer_list frequency_lists[] = {
	{ .key = "graphs",
	  .columns = graph_columns,
	  .total = "graphs_found",
	  .more = "limit: up to 1000",
	  .top = true,
	  .top_default = GRAPHS_SHOWN },
	{ 0 },
};

static void frequency_head(struct buf *out, struct json answer)
{
	token_budget_append_member(out, answer, "graphs_found");
	buf_puts(out, " executable graphs over ");
	token_budget_append_member(out, answer, "seconds");
	buf_puts(out, " s: ");
	token_budget_append_member(out, answer, "hot");
	buf_puts(out, " hot, ");
	token_budget_append_member(out, answer, "never_launched");
	buf_puts(out, " never launched\n");
}

static const struct answer_layout frequency_layout = { frequency_head, frequency_lists, NULL };

static int by_launches(const void *x, const void *y)
{
	const struct graph *a = x, *b = y;

	if (a->launches != b->launches)
		return a->launches < b->launches ? 1 : -1;
	return a->handle < b->handle ? -1 : a->handle > b->handle;
}

static struct json build_frequency(struct graphs *g, int64_t zero, double seconds)
{
	struct json o = json_object(), rows = json_array();
	uint64_t median, hot = 0, never = 0;

	if (g->v.n)
		qsort(g->v.v, g->v.n, sizeof(*g->v.v), by_launches);
	median = g->v.n ? g->v.v[g->v.n / 2].launches : 0;
	for (size_t i = 0; i < g->v.n; i++) {
		const struct graph *x = &g->v.v[i];
		double rate = seconds > 0 ? (double)x->launches / seconds : 0;
		/* As the Go agent has it: often, and more often than half of them. A single graph
		 * is its own half. */
		bool is_hot = rate >= 1 && (x->launches > median || g->v.n == 1);
		struct json row;
		char hex[24];

		hot += is_hot;
		never += x->launches == 0;
		if (i >= 1000)
			continue;
		row = json_object();
		snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)x->handle);
		tool_set_number(&row, "pid", x->pid);
		tool_set_text(&row, "handle", hex);
		tool_set_number(&row, "launches", (double)x->launches);
		tool_set_number(&row, "per_s", rate);
		if (x->launches)
			tool_set_us(&row, "avg_us", x->dur_ns / x->launches);
		tool_set_text(&row, "class",
			      is_hot	    ? "hot"
			      : x->launches ? "cold"
					    : "never launched");
		if (x->made_ns != INT64_MIN)
			tool_set_s(&row, "made_s", (double)(x->made_ns - zero));
		if (x->gone_ns != INT64_MIN)
			tool_set_s(&row, "gone_s", (double)(x->gone_ns - zero));
		json_append(&rows, row);
	}
	tool_set_number(&o, "graphs_found", (double)g->v.n);
	json_set(&o, "seconds", json_number(seconds));
	tool_set_number(&o, "hot", (double)hot);
	tool_set_number(&o, "never_launched", (double)never);
	json_set(&o, "graphs", rows);
	return o;
}

static int on_item(void *ctx, const struct store_items *from, const struct stream_item *item,
		   struct err *e)
{
	struct graphs *g = ctx;
	struct json answer;
	int64_t zero;
	double seconds;

	if (item && item->kind == STREAM_EVENTS) {
		for (size_t i = 0; i < item->n; i++)
			add_event(g, from->w, &item->events[i]);
		if (item->watermark_ns > g->end_ns)
			g->end_ns = item->watermark_ns;
	}
	if (item)
		return 0;
	zero = from->late_names->has_start ? from->late_names->start_ns
	       : g->start_ns == INT64_MIN  ? 0
					   : g->start_ns;
	seconds = g->end_ns > zero ? (double)(g->end_ns - zero) / 1e9 : 0;
	if (from->select->resolved && g->end_ns > from->select->since_ns &&
	    from->select->since_ns > zero)
		seconds = (double)(g->end_ns - from->select->since_ns) / 1e9;
	answer = g->frequency ? build_frequency(g, zero, seconds) : build_lifecycle(g, zero);
	tool_set_quality(&answer, &from->quality);
	return tool_answer(g->c, answer, g->frequency ? &frequency_layout : &life_layout, e);
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, bool how_often, struct err *e)
{
	static const char *const names[] = { "cudaGraph*", "cuGraph*", "cudaStream*Capture*",
					     "cuStream*Capture*" };
	struct tool_call c;
	struct graphs g = {
		.c = &c, .frequency = how_often, .start_ns = INT64_MIN, .end_ns = INT64_MIN
	};
	int rc = tool_begin(&c, ctx, rctx, args, out, true, e);

	if (!rc) {
		struct filter_words words = c.args.words;

		words.names = names;
		words.nnames = sizeof(names) / sizeof(names[0]);
		rc = store_source_each_item(c.source, rctx, &words, on_item, &g, e);
	}
	vec_free(&g.v);
	vec_free(&g.steps);
	map_free(&g.by);
	tool_end(&c);
	return rc;
}

static int call_life(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	return call_tool(ctx, rctx, args, out, false, e);
}

static int call_frequency(void *ctx, const struct request_ctx *rctx, struct json args,
			  struct mcp_reply *out, struct err *e)
{
	return call_tool(ctx, rctx, args, out, true, e);
}

const struct mcp_tool tool_graph_lifecycle = {
	.name = "graph_lifecycle",
	.title = "Life of CUDA graphs",
	.description = "CUDA graphs in time: captures, instantiations, updates, first and failed "
		       "launches, destructions, of "
		       "one process (pid) or all.",
	.input_schema = ARGS_SCHEMA(ARGS_TIME "," ARGS_PIDS "," ARGS_LIMIT(
		"1000", "Steps at most [50]") "," ARGS_FORM "," ARGS_JQ),
	.output_schema = TOOL_OUTPUT("\"counts\":{\"type\":\"object\"},\"steps_found\":{\"type\":"
				     "\"integer\"},\"steps\":{\"type\":\"array\","
				     "\"items\":{\"type\":\"object\",\"properties\":{\"t_s\":{"
				     "\"type\":\"number\"},\"op\":{\"type\":\"string\"}}}}"),
	.call = call_life,
};

const struct mcp_tool tool_graph_frequency = {
	.name = "graph_frequency",
	.title = "How often CUDA graphs are launched",
	.description = "Per executable CUDA graph: launches, rate, and whether it is hot, cold or "
		       "was never launched, of one "
		       "process (pid) or all.",
	.input_schema = ARGS_SCHEMA(ARGS_TIME "," ARGS_PIDS "," ARGS_LIMIT(
		"1000", "Graphs at most [30]") ","
					       "\"window_seconds\":{\"type\":\"number\","
					       "\"description\":\"Ignored: since and until "
					       "choose the time\"}," ARGS_FORM "," ARGS_JQ),
	.output_schema = TOOL_OUTPUT("\"graphs_found\":{\"type\":\"integer\"},\"seconds\":{"
				     "\"type\":\"number\"},\"hot\":{\"type\":\"integer\"},"
				     "\"never_launched\":{\"type\":\"integer\"},\"graphs\":{"
				     "\"type\":\"array\",\"items\":{\"type\":\"object\"}}"),
	.call = call_frequency,
};
