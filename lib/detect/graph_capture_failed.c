/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph-capture-failed: a capture that began did not end as a graph, or could not begin. What broke
 * it is the first call that returned an error while it was open, on its own thread or (as captures
 * are global unless told otherwise) another of its process. One fact for each code of a process.
 */
#include "lib/detect/detect_internal.h"

#include "lib/base/fmt.h"
#include "lib/account/tolls.h"
#include "lib/account/finding_details.h"
#include "lib/account/names.h"
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
	struct toll_row
		row; /* its toll has no time, only a count; its places are what broke captures */
	int32_t ret;
	uint8_t source;
	uint64_t calls;
	struct open first;
};

struct state {
	struct tolls tolls;
	VEC(struct open) open;
	struct where ends; /* by row */
};

static unsigned subscribe_op(const struct op_def *op)
{
	/* Until something is captured there is nothing that calls could break. */
	return op && op->flags & OP_CALL && !graphs_want(op) ? SUBSCRIBE_CALLS | SUBSCRIBE_LAZY : 0;
}

static bool on_call(void *state, struct cause *c, const struct line_piece *p)
{
	struct state *s = state;

	for (size_t i = 0; i < s->open.n; i++) {
		struct open *o = &s->open.v[i];

		if (o->process != p->process || p->open)
			continue;
		o->calls += o->thread == p->thread;
		/* Queries that are not ready are forbidden in captures too, but return another code
		 * there. */
		if (!event_failed(p->ev->op, p->ev->ret) || o->broken)
			continue;
		o->broken = true;
		o->op = p->ev->op;
		o->ret = p->ev->ret;
		o->stack = p->ev->stack;
	}
	return true;
}

static bool count_failure(struct state *s, const struct open *o, const struct graph_told *t)
{
	const struct event *ev = &t->call->ev;
	struct fact_moment m = { .end_ns = ev->end_ns,
				 .dur_ns = (uint64_t)(ev->end_ns - o->start_ns),
				 .thread = t->call->thread,
				 .op = ev->op };
	struct failed *k;
	bool nomem;

	k = tolls_row(&s->tolls, t->call->process, (uint32_t)ev->ret, &nomem);
	if (!k)
		return !nomem;
	if (k->row.toll.count == 0) {
		k->ret = ev->ret;
		k->source = t->call->op->source;
		k->first = *o;
	}
	toll_count(&k->row.toll, &m);
	k->calls += o->calls;
	if (o->broken && !where_add(&s->tolls.where, k->row.at, o->op, o->stack, 0, 0))
		return false;
	return where_add(&s->ends, k->row.at, t->capture->op, t->capture->stack, 0, m.dur_ns);
}

static bool on_graph(void *state, struct cause *c, const struct graph_told *t)
{
	struct state *s = state;
	struct open o = { .process = t->call->process, .thread = t->call->thread };
	size_t i = 0;

	if (t->what != GRAPH_BEGUN && t->what != GRAPH_CAPTURED)
		return true;
	o.start_ns = t->capture->start_ns;
	if (t->what == GRAPH_BEGUN && t->call->ev.ret == 0) {
		detectors_wake(&c->detectors, s);
		return s->open.n >= GRAPH_OPEN_MAX || vec_push(&s->open, o);
	}
	while (i < s->open.n &&
	       (s->open.v[i].process != o.process || s->open.v[i].thread != t->capture->thread ||
		s->open.v[i].start_ns != o.start_ns))
		i++;
	if (i < s->open.n) {
		o = s->open.v[i];
		for (s->open.n--; i < s->open.n; i++)
			s->open.v[i] = s->open.v[i + 1];
	}
	return t->call->ev.ret == 0 || count_failure(s, &o, t);
}

static void fill_finding(void *state, const struct cause *c, struct toll_row *r, struct fact *f)
{
	const struct state *s = state;
	const struct failed *k = (struct failed *)r;
	const char *name = event_error_name(k->source, k->ret), *broke;
	uint64_t count = r->toll.count;
	bool stops = cause_stopped(c, r->process, r->toll.last_ns, false, STOPPED_NS);
	struct where_place begun;
	struct buf where = { 0 };

	f->identity = name ? name : "unknown code";
	f->severity = stops ? FINDING_HIGH : FINDING_LOW;
	if (f->nsites == FACT_SITES) /* room for where captures began */
		f->nsites--;
	broke = f->nsites ? event_error_name(world_op(c->w, f->sites[0].op)
						     ? world_op(c->w, f->sites[0].op)->source
						     : SOURCE_CUDA,
					     k->first.ret)
			  : NULL;
	if (where_top(&s->ends, r->at, &begun, 1)) {
		fact_place(c, &begun, &where);
		f->sites[f->nsites++] = begun;
	}
	f->op = f->sites[0].op;
	fact_blame_site(c, f, "a capture");
	fact_victim(f, c, &f->summary);
	buf_printf(&f->summary, "'s capture of a CUDA graph failed %s%s with %s (%d), begun %s",
		   count == 1 ? "once" : fmt_count(count).s, count == 1 ? "" : " times",
		   name ? name : "error", k->ret, details_text(&f->found, &where));
	if (f->nsites > 1)
		buf_printf(&f->summary, "; broken by %s", f->culprit.text);
	if (stops)
		buf_puts(&f->summary, "; then the process stopped");
	fact_evidence(f, "return code", k->ret, "");
	if (name)
		fact_evidence_text(f, "its name", name);
	if (f->nsites > 1) {
		fact_evidence(f, "return code of the call that broke it", k->first.ret, "");
		if (broke)
			fact_evidence_text(f, "that is", broke);
	}
	fact_evidence(f, "calls captured before that", (double)k->calls / (double)count, "");
	fact_fix_code(f,
		      f->nsites > 1 ? "Keep that call out of the capture"
				    : "Keep calls that wait, allocate or copy pageable memory out "
				      "of the capture",
		      "with torch.cuda.graph(g):  # after a warm-up on a side stream; nothing in "
		      "it may wait or call .item()",
		      0, 0, "what a graph would save is not known before there is one");
}

static const struct tolls_def failing = { .kind = "graph-capture-failed",
					  .counted = "captures",
					  .row = sizeof(struct failed),
					  .most = CODES_MAX,
					  .due = tolls_due_count,
					  .tell = fill_finding };

static void free_state(void *state)
{
	struct state *s = state;

	vec_free(&s->open);
	where_free(&s->ends);
}

const struct detector detector_graph_capture_failed = { .size = sizeof(struct state),
							.tolls = { &failing },
							.subscribe_op = subscribe_op,
							.on_graph = on_graph,
							.on_span = on_call,
							.free = free_state };
