/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened around a moment: the longest things in a short time, in the order in which they
 * began. The moment is that of a cause, of a call, or a time; without one, that of the worst cause.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"
#include "lib/mcp/chain_rows.h"
#include "lib/mcp/tool.h"
#include "lib/world/who.h"

#define TOP	   40
#define WINDOW_MS  20
#define WINDOW_MAX 60000
#define HELD_MAX   200000 /* events of a window that are looked at */

/* A moment on the recording's clock, in ns. */
struct moment {
	const char *at; /* as asked; NULL: the worst cause */
	double window_ns;
	int64_t from_ns, to_ns, end_ns, zero_ns;
	bool found;
	char since[40];
};

struct timeline {
	struct tool_call *c;
	const struct moment *m;
	VEC(struct event) v;
	uint64_t n;
	int64_t last_ns; /* when the last of them ended */
};

static const struct answer_column columns[] = {
	{ "at_ms", "at", 1000 }, { "tid", NULL }, { "depth", "d" },  { "op", NULL }, { "us", NULL },
	{ "call", NULL },	 { "who", NULL }, { "error", NULL }, { 0 }
};
static const struct answer_list lists[] = {
	{ .key = "events",
	  .columns = columns,
	  .total = "events_found",
	  .more = "limit: up to 500, window_ms, op, or pid",
	  .top = true },
	{ 0 },
};

static void print_head(struct buf *out, struct json answer)
{
	token_budget_append_member(out, answer, "events_found");
	buf_puts(out, " events from ");
	token_budget_append_member(out, answer, "from_s");
	buf_puts(out, " s to ");
	token_budget_append_member(out, answer, "to_s");
	buf_puts(out, " s; the longest, by their beginning, in us from there\n");
}

static const struct answer_layout layout = { print_head, lists, NULL };

/* ---- when ---- */

static bool around_chain(struct moment *m, const struct finding *c, int64_t start_ns)
{
	/* The first that is a call; else the first that is no average of the whole. */
	for (unsigned round = 0; round < 2; round++) {
		for (size_t i = 0; i < c->moments.n; i++) {
			const struct finding_moment *at = &c->moments.v[i];
			int64_t from = (int64_t)((uint64_t)start_ns + (uint64_t)at->start_ns);

			if (round ? at->start_ns <= 0 : !chain_row_is_call(at))
				continue;
			m->from_ns = from - (int64_t)(m->window_ns / 4);
			m->to_ns = from + (int64_t)fmin((double)at->dur_ns, 60e9) +
				   (int64_t)(m->window_ns / 4);
			return true;
		}
	}
	if (!c->first_ns)
		return false;
	m->from_ns = c->first_ns;
	m->to_ns = m->from_ns + (int64_t)m->window_ns;
	return true;
}

static bool around_time(struct moment *m, int64_t ns)
{
	m->from_ns = ns - (int64_t)(m->window_ns / 2);
	m->to_ns = ns + (int64_t)(m->window_ns / 2);
	return true;
}

static int find_moment(void *ctx, const struct store_chains *c, struct err *e)
{
	const struct query_chains *a = c->answer;
	struct moment *m = ctx;
	char *end = NULL;
	double seconds = m->at ? strtod(m->at, &end) : 0;
	const char *sign = m->at ? strchr(m->at, '@') : NULL;
	int64_t start = a->has_start ? a->start_ns : 0;

	m->end_ns = a->end_ns;
	m->zero_ns = start;
	for (size_t i = 0; i < a->list.v.n && !m->found; i++) {
		const struct finding *chain = &a->list.v.v[i];

		if (!m->at || bytes_equal(chain->id, bytes_of(m->at)))
			m->found = around_chain(m, chain, start);
	}
	if (!m->found && sign && isdigit((unsigned char)sign[1]))
		m->found = around_time(m, strtoll(sign + 1, NULL, 10));
	if (!m->found && m->at && end && end != m->at && !*end && isfinite(seconds) &&
	    seconds >= 0 && seconds < 1e9)
		m->found = around_time(m, start + (int64_t)(seconds * 1e9));
	if (!m->found && m->at)
		return err_set(
			e, ERR_USAGE,
			"at is seconds since the start (2.922), the id of a cause, or a call "
			"(THREAD@END)");
	if (!m->found)
		m->found = around_time(m, start + (int64_t)(m->window_ns / 2));
	m->from_ns = m->from_ns < start ? start : m->from_ns;
	return 0;
}

/* A moment stays where it is, though the recording may have grown since its end was asked for. One
 * behind that end is the end. */
static void as_words(struct moment *m, struct filter_words *words)
{
	if (m->from_ns < m->end_ns) {
		words->own_given = true;
		words->from_ns = m->from_ns;
		words->to_ns =
			m->to_ns > m->from_ns ? m->to_ns : m->from_ns + (int64_t)m->window_ns;
		return;
	}
	snprintf(m->since, sizeof(m->since), "%lldns", (long long)m->window_ns);
	words->since = m->since;
}

/* ---- what ---- */

static int longest_first(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	if (a->dur_ns != b->dur_ns)
		return a->dur_ns < b->dur_ns ? 1 : -1;
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static int earliest_first(const void *x, const void *y)
{
	const struct event *a = x, *b = y;

	if (event_start(a) != event_start(b))
		return event_start(a) < event_start(b) ? -1 : 1;
	return a->dur_ns < b->dur_ns ? 1 : a->dur_ns > b->dur_ns ? -1 : 0;
}

static struct json row_of(const struct timeline *t, const struct world *w, const struct event *ev,
			  int64_t from)
{
	const struct op_def *op = world_op(w, ev->op);
	const struct who who = who_of(w, ev->ctx, ev->end_ns);
	uint64_t thread = 0;
	struct json o = json_object();
	char call[48];

	tool_set_ms(&o, "at_ms", (double)(event_start(ev) - from));
	tool_set_number(&o, "tid", who.thread ? who.thread->tid : 0);
	tool_set_number(&o, "depth", ev->depth);
	tool_set_text(&o, "op", op ? op->name : "?");
	tool_set_us(&o, "us", ev->dur_ns);
	if (op && event_get(ev, op, COL_OCCUPANT, &thread)) {
		const struct world_thread *other = world_get_thread(w, (uint32_t)thread);

		if (other)
			tool_set_bytes(
				&o, "who",
				world_text(w, world_thread_name(w, (uint32_t)thread, ev->end_ns)));
	}
	if (op && op->flags & OP_CALL && event_failed(ev->op, ev->ret)) {
		const char *name = event_error_name(op->source, ev->ret);

		tool_set_text(&o, "error", name ? name : "failed");
	}
	if (op && op->flags & OP_CALL && who.thread && !ev->depth) {
		snprintf(call, sizeof(call), "%u@%lld", who.thread->tid, (long long)ev->end_ns);
		tool_set_text(&o, "call", call);
	}
	return o;
}

static int write_answer(struct timeline *t, const struct store_items *from, struct err *e)
{
	uint64_t top = t->c->args.top_given && t->c->args.top ? t->c->args.top : TOP;
	size_t shown = t->v.n < top ? t->v.n : (size_t)top;
	struct json o = json_object(), rows = json_array();
	const struct filter *s = from->select;
	int64_t zero = t->m->zero_ns, begin = t->m->from_ns, end = t->m->to_ns;

	if (from->late_names->has_start)
		zero = from->late_names->start_ns;
	if (s->resolved) {
		/* A side that nobody named has no end. */
		begin = s->since_ns > zero ? s->since_ns : zero;
		end = t->last_ns > t->m->end_ns ? t->last_ns : t->m->end_ns;
		end = s->until_ns < end ? s->until_ns : end;
		end = end > begin ? end : begin; /* it may say that it began after its last event */
	}
	if (shown) {
		qsort(t->v.v, t->v.n, sizeof(*t->v.v), longest_first);
		qsort(t->v.v, shown, sizeof(*t->v.v), earliest_first);
	}
	for (size_t i = 0; i < shown; i++)
		json_append(&rows, row_of(t, from->w, &t->v.v[i], begin));
	json_set(&o, "from_s", json_number(((double)begin - (double)zero) / 1e9));
	json_set(&o, "to_s", json_number(((double)end - (double)zero) / 1e9));
	tool_set_number(&o, "events_found", (double)t->n);
	json_set(&o, "events", rows);
	tool_set_quality(&o, &from->quality);
	return tool_answer(t->c, o, &layout, e);
}

static int on_item(void *ctx, const struct store_items *from, const struct stream_item *item,
		   struct err *e)
{
	struct timeline *t = ctx;

	if (!item)
		return write_answer(t, from, e);
	for (size_t i = 0; item->kind == STREAM_EVENTS && i < item->n; i++) {
		t->n++;
		/* Of too many, the longer half stays. */
		if (t->v.n == HELD_MAX) {
			qsort(t->v.v, t->v.n, sizeof(*t->v.v), longest_first);
			t->v.n /= 2;
		}
		t->last_ns =
			item->events[i].end_ns > t->last_ns ? item->events[i].end_ns : t->last_ns;
		if (!vec_push(&t->v, item->events[i]))
			return err_nomem(e);
	}
	return 0;
}

static int call_tool(void *ctx, const struct request_ctx *rctx, struct json args,
		     struct mcp_reply *out, struct err *e)
{
	struct filter_words words, everything = { 0 };
	struct moment m = { 0 };
	struct tool_call c;
	struct timeline t = { .c = &c, .m = &m, .last_ns = INT64_MIN };
	int rc = tool_begin(&c, ctx, rctx, args, out, true, e);

	rc = rc ? rc : tool_args_text(&c.args, "at", &m.at, e);
	m.window_ns = tool_args_number(&c.args, "window_ms", WINDOW_MS) * 1e6;
	if (!rc && !(m.window_ns > 0 && m.window_ns <= WINDOW_MAX * 1e6))
		rc = err_set(e, ERR_USAGE, "window_ms is from 0 to %d", WINDOW_MAX);
	rc = rc ? rc : store_source_chains(c.source, rctx, &everything, false, find_moment, &m, e);
	words = c.args.words;
	if (!rc && (words.since || words.until))
		m.to_ns = m.end_ns, m.from_ns = m.zero_ns;
	else if (!rc)
		as_words(&m, &words);
	rc = rc ? rc : store_source_each_item(c.source, rctx, &words, on_item, &t, e);
	vec_free(&t.v);
	tool_end(&c);
	return rc;
}

const struct mcp_tool tool_timeline = {
	.name = "get_timeline",
	.title = "What happened around a moment",
	.description = "Events of a short time, the longest ones in order: around the worst cause, "
		       "a cause by id, a call "
		       "(THREAD@END), or seconds since the start.",
	.input_schema = ARGS_SCHEMA(
		"\"at\":{\"type\":\"string\",\"maxLength\":200,\"description\":\"Id of a cause, a "
		"call, or seconds since the "
		"start [the worst "
		"cause]\"},\"window_ms\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":"
		"60000,"
		"\"description\":\"How much time around it [20]\"}," ARGS_TIME "," ARGS_PIDS
		"," ARGS_OP "," ARGS_LIMIT("500", "Events at most [40]") "," ARGS_FORM "," ARGS_JQ),
	.output_schema = TOOL_OUTPUT("\"from_s\":{\"type\":\"number\"},\"to_s\":{\"type\":"
				     "\"number\"},\"events_found\":{\"type\":\"integer\"},"
				     "\"events\":{\"type\":\"array\",\"items\":{\"type\":"
				     "\"object\",\"properties\":{\"at_ms\":{\"type\":\"number\"},"
				     "\"tid\":{\"type\":\"integer\"},\"op\":{\"type\":\"string\"},"
				     "\"us\":{\"type\":\"number\"}}}}"),
	.call = call_tool,
};
