/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph-capture-failed: a capture that began did not end as a graph, or could not begin. What broke it is the first
 * call that returned an error while it was open, on its own thread or (as captures are global unless told otherwise)
 * another of its process. One fact for each code of a process.
 */
#include "lib/cause/detect/watches.h"

#include "lib/base/human.h"
#include "lib/cause/fact.h"
#include "lib/cause/names.h"
#include "lib/event/chain.h"

#define CODES_MAX  256
#define STOPPED_NS 1000000000

/* A capture that is open, and what first failed in it. */
struct open {
	uint32_t process, thread;
	int64_t start_ns;
	uint64_t calls;
	bool broken;
	uint16_t op;
	int32_t ret;
	uint32_t stack;
};

struct failed {
	uint32_t process;
	int32_t ret;
	uint8_t source;
	uint64_t count, calls;
	struct fact_moment moment[2]; /* the first and the last */
	struct open first;
	struct fact_told told;
};

struct state {
	VEC(struct open) open;
	VEC(struct failed) v;
	struct where breakers; /* by position in v */
	struct where ends;
};

static unsigned wants(const struct op_def *op)
{
	return op && op->flags & OP_CALL && !graphs_want(op) ? WATCH_OUTER : 0;
}

static bool piece(void *state, struct cause *c, const struct line_piece *p)
{
	struct state *s = state;

	(void)c;
	for (size_t i = 0; i < s->open.n; i++) {
		struct open *o = &s->open.v[i];

		if (o->process != p->process || p->open)
			continue;
		o->calls += o->thread == p->thread;
		/* Queries that are not ready are forbidden in captures too, but return another code there. */
		if (p->ev->ret == 0 || p->ev->ret == 600 || o->broken)
			continue;
		o->broken = true;
		o->op = p->ev->op;
		o->ret = p->ev->ret;
		o->stack = p->ev->stack;
	}
	return true;
}

static bool fails(struct state *s, const struct open *o, const struct graph_told *t)
{
	const struct event *ev = &t->call->ev;
	struct fact_moment m = { .end_ns = ev->end_ns,
				 .dur_ns = (uint64_t)(ev->end_ns - o->start_ns),
				 .thread = t->call->thread,
				 .op = ev->op };
	size_t i = 0;

	while (i < s->v.n && (s->v.v[i].process != t->call->process || s->v.v[i].ret != ev->ret))
		i++;
	if (i == s->v.n) {
		struct failed fresh = { .process = t->call->process,
					.ret = ev->ret,
					.source = t->call->op->source,
					.first = *o };

		if (i >= CODES_MAX)
			return true;
		if (!vec_push(&s->v, fresh))
			return false;
	}
	s->v.v[i].moment[s->v.v[i].count++ > 0] = m;
	s->v.v[i].calls += o->calls;
	if (o->broken && !where_add(&s->breakers, (uint32_t)i, o->op, o->stack, 0, 0))
		return false;
	return where_add(&s->ends, (uint32_t)i, t->capture->op, t->capture->stack, 0, m.dur_ns);
}

static bool graph(void *state, struct cause *c, const struct graph_told *t)
{
	struct state *s = state;
	struct open o = { .process = t->call->process, .thread = t->call->thread };
	size_t i = 0;

	(void)c;
	if (t->what != GRAPH_BEGUN && t->what != GRAPH_CAPTURED)
		return true;
	o.start_ns = t->capture->start_ns;
	if (t->what == GRAPH_BEGUN && t->call->ev.ret == 0)
		return s->open.n >= GRAPH_OPEN_MAX || vec_push(&s->open, o);
	while (i < s->open.n &&
	       (s->open.v[i].process != o.process || s->open.v[i].thread != t->capture->thread ||
		s->open.v[i].start_ns != o.start_ns))
		i++;
	if (i < s->open.n) {
		o = s->open.v[i];
		for (s->open.n--; i < s->open.n; i++)
			s->open.v[i] = s->open.v[i + 1];
	}
	return t->call->ev.ret == 0 || fails(s, &o, t);
}

static bool stopped(const struct cause *c, const struct failed *k)
{
	const struct tally_process *t =
		k->process < c->tally.processes.n ? &c->tally.processes.v[k->process] : NULL;
	int64_t at = k->moment[k->count > 1].end_ns, last = t && t->calls ? t->last_ns : at;

	return c->ended && last - at <= STOPPED_NS && c->end_ns - last > STOPPED_NS;
}

static int tell(struct state *s, struct cause *c, size_t at, struct err *e)
{
	struct failed *k = &s->v.v[at];
	const char *name = event_error_name(k->source, k->ret), *broke;
	bool stops = stopped(c, k);
	struct fact f = { .kind = "graph-capture-failed",
			  .process = k->process,
			  .identity = name ? name : "unknown code",
			  .counted = "captures",
			  .count = k->count,
			  .first_ns = k->moment[0].end_ns - (int64_t)k->moment[0].dur_ns,
			  .last_ns = k->moment[k->count > 1].end_ns,
			  .severity = stops ? CHAIN_HIGH : CHAIN_LOW,
			  .explained = -1,
			  .unexplained = -1 };
	struct where_place begun;
	struct buf where = { 0 }, capture = { 0 };
	int rc;

	f.nsites = where_top(&s->breakers, (uint32_t)at, f.sites, FACT_SITES - 1);
	broke = f.nsites ? event_error_name(world_op(c->w, f.sites[0].op)
						    ? world_op(c->w, f.sites[0].op)->source
						    : SOURCE_CUDA,
					    k->first.ret)
			 : NULL;
	if (where_top(&s->ends, (uint32_t)at, &begun, 1)) {
		fact_place(c, &begun, &capture);
		f.sites[f.nsites++] = begun;
	}
	f.op = f.sites[0].op;
	fact_blame_site(c, &f, &where, "a capture");
	f.moments[0] = k->moment[0];
	f.moments[1] = k->moment[1];
	f.nmoments = k->count > 1 ? 2 : 1;
	fact_victim(&f, c, &f.summary);
	buf_printf(&f.summary, "'s capture of a CUDA graph failed %s%s with %s (%d), begun %s",
		   k->count == 1 ? "once" : human_count(k->count).s, k->count == 1 ? "" : " times",
		   name ? name : "error", k->ret, buf_text(&capture));
	if (f.nsites > 1)
		buf_printf(&f.summary, "; broken by %s", f.culprit.text);
	if (stops)
		buf_puts(&f.summary, "; then the process stopped");
	fact_evidence(&f, "return code", k->ret, "");
	if (name)
		fact_evidence_text(&f, "its name", name);
	if (f.nsites > 1) {
		fact_evidence(&f, "return code of the call that broke it", k->first.ret, "");
		if (broke)
			fact_evidence_text(&f, "that is", broke);
	}
	fact_evidence(&f, "calls captured before that", (double)k->calls / (double)k->count, "");
	fact_fix(&f,
		 f.nsites > 1 ? "Keep that call out of the capture"
			      : "Keep calls that wait, allocate or copy pageable memory out of the "
				"capture",
		 "with torch.cuda.graph(g):  # after a warm-up on a side stream; nothing in it may "
		 "wait or call .item()",
		 0, 0, "what a graph would save is not known before there is one");
	rc = where.failed || capture.failed ? err_nomem(e) : fact_tell(c, &f, &k->told, e);
	buf_free(&where);
	buf_free(&capture);
	fact_free(&f);
	return rc;
}

static int settle(void *state, struct cause *c, int64_t pane, struct err *e)
{
	struct state *s = state;
	int rc = 0;

	(void)pane;
	for (size_t i = 0; i < s->v.n && rc == 0; i++) {
		if (fact_due_count(c, &s->v.v[i].told, s->v.v[i].count))
			rc = tell(s, c, i, e);
	}
	return rc;
}

static void end(void *state)
{
	struct state *s = state;

	vec_free(&s->open);
	vec_free(&s->v);
	where_free(&s->breakers);
	where_free(&s->ends);
}

const struct watch_def watch_graph_capture_failed = { .name = "graph-capture-failed",
						      .size = sizeof(struct state),
						      .wants = wants,
						      .graph = graph,
						      .piece = piece,
						      .settle = settle,
						      .free = end };
