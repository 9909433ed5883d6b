/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From where calls were made: one row for each operation at each place in the code, so that
 * different operations are never mixed. Memory is bounded by PLACES_MAX of them.
 */
#include <stdlib.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/base/vec.h"
#include "lib/mcp/tool.h"
#include "lib/world/frame_parts.h"
#include "lib/world/who.h"

#define TOP	   10
#define PLACES_MAX 65536
#define PIDS	   4
#define FRAMES_MAX 64
#define ROWS_MAX   100

struct place_row {
	const struct op_def *op;
	uint32_t stack;
	uint64_t n, total_ns, min_ns, max_ns, errors, bytes;
	uint32_t pids[PIDS];
	unsigned npids;
};

struct stacks {
	struct tool_call *c;
	VEC(struct place_row) v;
	struct map by;
	uint64_t without, beyond; /* events without a stack; of places that did not fit */
	uint64_t events;
};

static const struct answer_column columns[] = { { "op", NULL },
						{ "count", "n" },
						{ "errors", "err" },
						{ "avg_us", "avgus" },
						{ "min_us", "minus" },
						{ "max_us", "maxus" },
						{ "total_ms", "totms" },
						{ "bytes", NULL },
						{ "pids", NULL },
						{ "at", "frames (innermost first)" },
						{ 0 } };
static const struct answer_list lists[] = {
	{ .key = "stacks",
	  .columns = columns,
	  .total = "places",
	  .more = "limit: up to 100, or op",
	  .top = true,
	  .top_default = TOP },
	{ 0 },
};

static void print_head(struct buf *out, struct json answer)
{
	struct json note = json_get(answer, "note");

	token_budget_append_member(out, answer, "events");
	buf_puts(out, " events at ");
	token_budget_append_member(out, answer, "places");
	buf_puts(out, " places; ");
	token_budget_append_member(out, answer, "without_stack");
	buf_puts(out, " without a stack\n");
	if (json_bytes(note).n) {
		token_budget_append_value(out, note);
		buf_putc(out, '\n');
	}
	json_free(note);
}

static const struct answer_layout layout = { print_head, lists, NULL };

static bool add_event(struct stacks *s, const struct world *w, const struct event *ev)
{
	const struct op_def *op = world_op(w, ev->op);
	uint64_t at, key = hash_u64((uint64_t)ev->stack << 16 | ev->op), bytes = 0;
	const struct world_process *p;
	struct place_row *r;
	unsigned i = 0;

	if (!op)
		return true;
	s->events++;
	if (!ev->stack) {
		s->without++;
		return true;
	}
	/* The hash is a bijection: equal keys are the same place. */
	if (!map_get(&s->by, key, &at)) {
		if (s->v.n == PLACES_MAX) {
			s->beyond++;
			return true;
		}
		at = s->v.n;
		if (!vec_push(&s->v, (struct place_row){ .op = op,
							 .stack = ev->stack,
							 .min_ns = UINT64_MAX }) ||
		    !map_put(&s->by, key, at))
			return false;
	}
	r = &s->v.v[at];
	r->n++;
	r->errors += op->flags & OP_CALL && event_failed(ev->op, ev->ret);
	r->total_ns += ev->dur_ns;
	r->min_ns = ev->dur_ns < r->min_ns ? ev->dur_ns : r->min_ns;
	r->max_ns = ev->dur_ns > r->max_ns ? ev->dur_ns : r->max_ns;
	if (event_get(ev, op, COL_BYTES, &bytes))
		r->bytes += bytes;
	p = world_get_process(w, who_of(w, ev->ctx, ev->end_ns).process_id);
	while (p && i < r->npids && r->pids[i] != p->tgid)
		i++;
	if (p && i == r->npids && i < PIDS)
		r->pids[r->npids++] = p->tgid;
	return true;
}

static int by_total(const void *x, const void *y)
{
	const struct place_row *a = x, *b = y;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	if (a->n != b->n)
		return a->n < b->n ? 1 : -1;
	return a->op->id != b->op->id ? (a->op->id < b->op->id ? -1 : 1)
				      : (a->stack < b->stack ? -1 : 1);
}

static void put_frame(struct buf *out, const struct place *p)
{
	place_name(out, p);
	if (p->file.n && p->line) {
		size_t from = p->file.n;

		while (from && p->file.p[from - 1] != '/')
			from--;
		buf_printf(out, " (%.*s:%llu)", (int)(p->file.n - from), p->file.p + from,
			   (unsigned long long)p->line);
	}
}

static struct json row_of(const struct world *w, const struct place_row *r)
{
	struct json o = json_object(), frames = json_array(), pids = json_array();
	unsigned n = 0;
	const uint32_t *v = world_get_stack(w, r->stack, &n);
	struct buf at = { 0 };

	tool_set_text(&o, "op", r->op->name);
	tool_set_text(&o, "source", r->op->source_name);
	tool_set_number(&o, "count", (double)r->n);
	tool_set_number(&o, "errors", (double)r->errors);
	tool_set_us(&o, "avg_us", r->total_ns / r->n);
	tool_set_us(&o, "min_us", r->min_ns);
	tool_set_us(&o, "max_us", r->max_ns);
	tool_set_ms(&o, "total_ms", (double)r->total_ns);
	tool_set_number(&o, "bytes", (double)r->bytes);
	for (unsigned i = 0; i < r->npids; i++)
		json_append(&pids, json_number(r->pids[i]));
	json_set(&o, "pids", pids);
	for (unsigned i = 0; i < n && i < FRAMES_MAX; i++) {
		const struct place p = place_of(w, v[i]);
		struct buf frame = { 0 };

		put_frame(&frame, &p);
		json_append(&frames, json_string(buf_bytes(&frame)));
		buf_puts(&at, i ? " < " : "");
		buf_add(&at, frame.p, frame.n);
		buf_free(&frame);
	}
	tool_set_bytes(&o, "at", buf_bytes(&at));
	json_set(&o, "frames", frames);
	buf_free(&at);
	return o;
}

static int write_answer(struct stacks *s, const struct store_items *from, struct err *e)
{
	struct json o = json_object(), rows = json_array();

	if (s->v.n)
		qsort(s->v.v, s->v.n, sizeof(*s->v.v), by_total);
	for (size_t i = 0; i < s->v.n && i < ROWS_MAX; i++)
		json_append(&rows, row_of(from->w, &s->v.v[i]));
	tool_set_number(&o, "events", (double)s->events);
	tool_set_number(&o, "places", (double)s->v.n);
	tool_set_number(&o, "without_stack", (double)s->without);
	if (!s->v.n && s->events)
		tool_set_text(&o, "note",
			      "no event that was asked for has a stack: record with stacks "
			      "(ingero-record "
			      "takes them unless told --no-stack)");
	else if (s->beyond)
		tool_set_text(&o, "note", "places beyond the first 65,536 are not counted");
	json_set(&o, "stacks", rows);
	tool_set_quality(&o, &from->quality);
	return tool_answer(s->c, o, &layout, e);
}

static int on_item(void *ctx, const struct store_items *from, const struct stream_item *item,
		   struct err *e)
{
	struct stacks *s = ctx;

	if (!item)
		return write_answer(s, from, e);
	for (size_t i = 0; item->kind == STREAM_EVENTS && i < item->n; i++)
		if (!add_event(s, from->w, &item->events[i]))
			return err_nomem(e);
	return 0;
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	struct tool_call c;
	struct stacks s = { .c = &c };
	int rc = tool_begin(&c, ctx, rctx, args, out, true, e);

	rc = rc ? rc : store_source_each_item(c.source, rctx, &c.args.words, on_item, &s, e);
	vec_free(&s.v);
	map_free(&s.by);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_stacks = {
	.name = "get_stacks",
	.title = "Call stacks",
	.description = "Where in the code calls were made: per operation and stack the count, "
		       "times and frames with file and "
		       "line, most time first. Narrow with op.",
	.input_schema = ARGS_SCHEMA(ARGS_TIME "," ARGS_PIDS "," ARGS_OP "," ARGS_LIMIT(
		"100", "Stacks at most [10]") "," ARGS_FORM "," ARGS_JQ),
	.output_schema = TOOL_OUTPUT("\"events\":{\"type\":\"integer\"},\"places\":{\"type\":"
				     "\"integer\"},\"without_stack\":{\"type\":\"integer\"},"
				     "\"note\":{\"type\":\"string\"},\"stacks\":{\"type\":"
				     "\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
				     "\"op\":{\"type\":\"string\"},\"source\":{\"type\":\"string\"}"
				     ",\"count\":{\"type\":\"integer\"},"
				     "\"avg_us\":{\"type\":\"number\"},\"frames\":{\"type\":"
				     "\"array\",\"items\":{\"type\":\"string\"}}}}}"),
	.call = call_tool,
};
