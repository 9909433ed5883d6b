/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs lib/loops/loops.h beside the counting. An event counts in the step of its own thread's loop,
 * or else in that of its process, by the time at which it ended.
 */
#include "lib/query/by_steps.h"

#include <stdlib.h>

#include "lib/query/layers.h"
#include "lib/tracks/loop_text.h"
#include "lib/tracks/step_runs.h"
#include "lib/loops/loops_feed.h"

#define SETTLE_HELD 65536 /* so many more, and it is looked which of them are in steps by now */

struct counted {
	uint64_t calls, errors, self_ns, calls_self_ns, lost_ns;
};

struct held {
	int64_t ns;
	uint32_t thread;
	uint32_t calls;
	uint64_t errors : 1, self_ns : 63;
	uint64_t calls_self_ns, lost_ns;
};

struct by_steps {
	struct loop_listener listener; /* first: it is cast back */
	struct world *w;
	struct loops *loops;
	struct loops_feed feed;
	struct layers layers;
	VEC(struct step_runs) runs;  /* by loop */
	VEC(struct counted) counted; /* the same */
	struct counted outside;	     /* of no step */
	VEC(int) chosen;	     /* by thread: its loop plus one; 0: not looked for; -1: none */
	VEC(struct held) held;
	size_t settle_at;
	bool finished, nomem;
};

static void on_step(struct loop_listener *l, const struct loop_step *s)
{
	struct by_steps *b = (struct by_steps *)l;

	if (!vec_reach(&b->runs, s->loop) || !vec_reach(&b->counted, s->loop)) {
		b->nomem = true;
		return;
	}
	b->runs.v[s->loop].thread = s->thread;
	b->nomem |= !step_runs_add(&b->runs.v[s->loop], s->begin_ns, s->end_ns);
}

/* What was counted in its steps lies in those of the wider loop. */
static void on_restart(struct loop_listener *l, uint32_t thread, uint32_t loop)
{
	struct by_steps *b = (struct by_steps *)l;

	(void)thread;
	if (loop < b->runs.n) {
		b->runs.v[loop].v.n = 0;
		b->runs.v[loop].steps = 0;
	}
}

/* ---- counting ---- */

static void add_counted(struct counted *to, const struct counted *x)
{
	to->calls += x->calls;
	to->errors += x->errors;
	to->self_ns += x->self_ns;
	to->calls_self_ns += x->calls_self_ns;
	to->lost_ns += x->lost_ns;
}

/* -1: none. */
static int loop_of(struct by_steps *b, uint32_t thread)
{
	int *chosen;

	if (!thread || !vec_reach(&b->chosen, thread)) {
		b->nomem |= thread != 0;
		return -1;
	}
	chosen = &b->chosen.v[thread];
	if (!*chosen) {
		*chosen = 1 + step_runs_choose(b->runs.v, b->runs.n, b->w, b->loops, thread,
					       world_thread_process_id(b->w, thread));
		*chosen = *chosen ? *chosen : -1;
	}
	return *chosen > 0 ? *chosen - 1 : -1;
}

static void assign_to_step(struct by_steps *b, int loop, const struct held *h)
{
	const struct counted x = { h->calls, h->errors, h->self_ns, h->calls_self_ns, h->lost_ns };
	int64_t until;
	bool within =
		loop >= 0 && step_runs_find(&b->runs.v[loop], h->ns - 1, &until) == STEP_WITHIN;

	add_counted(within ? &b->counted.v[loop] : &b->outside, &x);
}

/* Counts what ended before the newest step of its loop did; all: the rest too, as outside steps. */
static void assign_to_steps(struct by_steps *b, bool all)
{
	size_t keep = 0;

	b->chosen.n = 0;
	for (size_t i = 0; i < b->held.n; i++) {
		const struct held h = b->held.v[i];
		int loop = loop_of(b, h.thread);
		const struct step_runs *runs = loop >= 0 ? &b->runs.v[loop] : NULL;

		if (all || (runs && runs->v.n && h.ns <= runs->v.v[runs->v.n - 1].end_ns))
			assign_to_step(b, loop, &h);
		else
			b->held.v[keep++] = h;
	}
	b->held.n = keep;
	if (keep >= BY_STEPS_HELD)
		assign_to_steps(b, true);
	b->settle_at = b->held.n + SETTLE_HELD;
}

static bool hold_back(struct by_steps *b, const struct held *h)
{
	struct held *last = b->held.n ? &b->held.v[b->held.n - 1] : NULL;

	if (last && last->ns == h->ns && last->thread == h->thread && !h->errors) {
		last->calls += h->calls;
		last->self_ns += h->self_ns;
		last->calls_self_ns += h->calls_self_ns;
		last->lost_ns += h->lost_ns;
		return true;
	}
	if (!vec_push(&b->held, *h))
		return false;
	if (b->held.n >= b->settle_at)
		assign_to_steps(b, false);
	return !b->nomem;
}

static bool count_call(void *ctx, const struct layer_call *call)
{
	return hold_back(ctx, &(struct held){ .ns = call->start_ns + (int64_t)call->dur_ns,
					      .thread = call->slot,
					      .calls = 1,
					      .errors = call->failed });
}

static uint32_t thread_of(const struct by_steps *b, const struct event *ev)
{
	const struct world_ctx *c = world_get_ctx(b->w, ev->ctx);

	return c ? c->thread : 0;
}

bool by_steps_time(struct by_steps *b, const struct event *ev, const struct op_def *op,
		   uint32_t process, uint64_t self_ns, uint64_t lost_ns)
{
	(void)process;
	if (!self_ns && !lost_ns)
		return true;
	return hold_back(b, &(struct held){ .ns = ev->end_ns,
					    .thread = thread_of(b, ev),
					    .self_ns = self_ns,
					    .calls_self_ns = op->flags & OP_CALL ? self_ns : 0,
					    .lost_ns = lost_ns });
}

bool by_steps_event(struct by_steps *b, const struct event *ev, const struct op_def *op,
		    uint32_t process, uint64_t self_ns)
{
	struct layer_call call = { .slot = thread_of(b, ev),
				   .class = 1,
				   .process = process,
				   .op = ev->op,
				   .depth = ev->depth,
				   .start_ns = event_start(ev),
				   .dur_ns = ev->dur_ns,
				   .failed = event_failed(ev->op, ev->ret) };

	if (!by_steps_time(b, ev, op, process, self_ns, 0))
		return false;
	if (!(op->flags & OP_CALL))
		return true;
	return call.slot ? layers_add(&b->layers, call.slot, &call) : count_call(b, &call);
}

/* ---- the stream ---- */

struct by_steps *by_steps_new(struct world *w)
{
	struct by_steps *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->w = w;
	b->listener = (struct loop_listener){ on_step, on_restart };
	b->layers = (struct layers){ .count = count_call, .ctx = b };
	b->settle_at = SETTLE_HELD;
	b->loops = b->feed.loops = loops_new(w, &b->listener);
	if (b->loops)
		return b;
	by_steps_free(b);
	return NULL;
}

void by_steps_free(struct by_steps *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->runs.n; i++)
		vec_free(&b->runs.v[i].v);
	vec_free(&b->runs);
	vec_free(&b->counted);
	vec_free(&b->chosen);
	vec_free(&b->held);
	layers_free(&b->layers);
	loops_free(b->loops);
	free(b);
}

int by_steps_item(struct by_steps *b, const struct stream_item *item, struct err *e)
{
	int rc = loops_feed_item(&b->feed, item, e);

	return rc ? rc : b->nomem ? err_nomem(e) : 0;
}

bool by_steps_finish(struct by_steps *b)
{
	struct err e = { 0 };

	if (!layers_flush(&b->layers) || loops_finish(b->loops, &e))
		return false;
	b->finished = true;
	assign_to_steps(b, true);
	return !b->nomem;
}

/* ---- rows ---- */

/* "train (thread 4712)" */
static uint32_t thread_name(struct by_steps *b, uint32_t thread)
{
	const struct world_thread *th = world_get_thread(b->w, thread);
	struct bytes comm = world_text(b->w, world_thread_name(b->w, thread, INT64_MAX));
	struct buf text = { 0 };
	uint32_t id = 0;

	buf_printf(&text, "%.*s%s(thread %u)", (int)comm.n, comm.n ? comm.p : "", comm.n ? " " : "",
		   th ? th->tid : 0);
	if (text.failed)
		b->nomem = true;
	else
		id = world_string(b->w, buf_bytes(&text));
	buf_free(&text);
	return id;
}

/* Only where there are several. */
static uint32_t node_of(const struct by_steps *b, uint32_t thread)
{
	const struct world_process *p = world_thread_process(b->w, thread);
	const struct world_node *n = p ? world_get_node(b->w, p->node) : NULL;

	return n && world_count(b->w, WORLD_NODE) > 1 ? n->name : 0;
}

static void fill_counted(struct by_row *row, const struct counted *x)
{
	row->calls = x->calls;
	row->errors = row->all.errors = x->errors;
	row->self_ns = row->all.self_ns = x->self_ns;
	row->calls_self_ns = x->calls_self_ns;
	row->lost_ns = row->all.lost_ns = x->lost_ns;
}

static bool add_loop(struct by_steps *b, size_t i, const struct counted *x, struct by_table *table)
{
	const struct loop *l = loops_get(b->loops, i);
	struct by_row row = { .kind = BY_KNOWN,
			      .name = thread_name(b, l->thread),
			      .node = node_of(b, l->thread),
			      .count = l->count,
			      .timed = l->dur.count,
			      .p50_ns = sketch_quantile(&l->dur, 0.50),
			      .p95_ns = sketch_quantile(&l->dur, 0.95),
			      .p99_ns = sketch_quantile(&l->dur, 0.99),
			      .max_ns = l->dur.count ? l->dur.max : 0,
			      .total_ns = l->ns };
	struct buf text = { 0 };

	row.all.is = l->uncertain > 0;
	row.all.least = l->uncertain && l->least;
	row.all.count = l->estimate;
	row.all.total_ns = l->ns;
	fill_counted(&row, x);
	loop_text_print(&text, b->w, l);
	if (text.failed)
		b->nomem = true;
	else
		row.key = world_string(b->w, buf_bytes(&text));
	buf_free(&text);
	return !b->nomem && !world_failed(b->w) && vec_push(&table->rows, row);
}

static int compare_rows(const void *x, const void *y)
{
	const struct by_row *a = x, *b = y;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	return a->key != b->key ? a->key < b->key ? -1 : 1 : a->name < b->name ? -1 : 1;
}

/* Loops that turned out to be inside of another one are counted there. */
static void join_void(struct by_steps *b)
{
	for (size_t i = 0; i < b->counted.n; i++) {
		const struct loop *l = loops_get(b->loops, i);
		int into = l->is_void ? loops_main(b->loops, l->thread) : -1;

		if (!l->is_void)
			continue;
		add_counted(into >= 0 && (size_t)into < b->counted.n ? &b->counted.v[into]
								     : &b->outside,
			    &b->counted.v[i]);
		b->counted.v[i] = (struct counted){ 0 };
	}
}

bool by_steps_rows(struct by_steps *b, struct by_table *table)
{
	struct counted rest;
	struct by_row row = { .kind = BY_NONE };

	if (!b->finished)
		assign_to_steps(b, false);
	join_void(b);
	table->rows.n = 0;
	for (size_t i = 0; i < b->counted.n; i++) {
		const struct counted *x = &b->counted.v[i];

		if ((x->calls || x->self_ns || x->lost_ns) && !add_loop(b, i, x, table))
			return false;
	}
	rest = b->outside;
	for (size_t i = 0; i < b->held.n; i++) {
		const struct held *h = &b->held.v[i];

		add_counted(&rest, &(struct counted){ h->calls, h->errors, h->self_ns,
						      h->calls_self_ns, h->lost_ns });
	}
	fill_counted(&row, &rest);
	if ((rest.calls || rest.self_ns || rest.lost_ns) && !vec_push(&table->rows, row))
		return false;
	if (table->rows.n)
		qsort(table->rows.v, table->rows.n, sizeof(table->rows.v[0]), compare_rows);
	return true;
}
