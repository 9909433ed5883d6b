/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits each thread's time into spans as events arrive, and passes them to the listeners. The
 * common event is a call without anything inside: it costs one lookup of its thread and one
 * comparison per accumulator; only off-CPU intervals do real work.
 */
#include "lib/attrib/line.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/attrib/line_internal.h"
#include "lib/attrib/locks.h"

static int emit_slow_path(struct line_sink *s, const struct line_piece *p)
{
	s->call(s, p);
	return 0;
}

struct line *line_new(const struct world *w, struct line_sink *sink)
{
	struct line *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (!sink->plain)
		sink->plain = emit_slow_path;
	if (!sink->plain_inner)
		sink->plain_inner = emit_slow_path;
	l->w = w;
	l->sink = sink;
	l->threads.w = w;
	l->culprits.w = w;
	l->on_cpu = (struct line_piece){ .parts = &l->between, .sound = true };
	l->plain = (struct line_piece){ .parts = &l->inner, .sound = true };
	l->blame = (struct blame){ w, &l->culprits, &l->occupancy, &l->threads, &l->losses };
	return l;
}

void line_free(struct line *l)
{
	if (!l)
		return;
	threads_free(&l->threads);
	occupancy_free(&l->occupancy);
	culprits_free(&l->culprits);
	vec_free(&l->leaving);
	free(l);
}

void line_lost(struct line *l, int64_t since_ns, int64_t until_ns, uint64_t events)
{
	losses_add(&l->losses, since_ns, until_ns, events);
	l->totals.lost = l->losses.events;
}

COLD_CALL static const struct op_def *op_learn(struct line *l, uint16_t op)
{
	struct line_op *o = &l->ops[op];

	o->def = world_op(l->w, op);
	if (!o->def)
		return NULL;
	if (op == OP_PROC_EXIT || op == OP_SCHED_OCCUPIED ||
	    (o->def->track != TRACK_THREAD && op != OP_SCHED_MIGRATE && op != OP_CPU_SAMPLE))
		o->what = OTHER;
	else if (o->def->flags & OP_CALL && op != OP_CPU_SAMPLE && op != OP_SCHED_MIGRATE &&
		 op != OP_SCHED_OFFCPU && op != OP_SCHED_STOLEN)
		o->what = CALL;
	else
		o->what = ON_THREAD;
	return o->def;
}

static inline const struct op_def *op_of(struct line *l, uint16_t op)
{
	return l->ops[op].what != ANEW ? l->ops[op].def : op_learn(l, op);
}

/* Time outside calls from the thread's cursor to `to`, in which `parts` happened. */
static void outside_until(struct line *l, struct line_thread *th, int64_t to,
			  const struct parts *parts, const struct event *ev,
			  const struct op_def *op)
{
	struct line_piece p = { .ev = ev,
				.op = op,
				.thread = th->id,
				.process = th->process,
				.node = th->node,
				.start_ns = th->cursor_ns,
				.end_ns = to,
				.parts = parts,
				.sound = true };

	if (to <= th->cursor_ns)
		return;
	th->cursor_ns = to;
	l->sink->outside(l->sink, &p);
}

/* …in which nothing is known to have happened. */
ALWAYS_INLINE void on_cpu_until(struct line *l, struct line_thread *th, int64_t to)
{
	struct line_piece *p = &l->on_cpu;
	int64_t from = th->cursor_ns;

	if (to <= from)
		return;
	p->thread = th->id;
	p->process = th->process;
	p->node = th->node;
	p->start_ns = from;
	p->end_ns = to;
	parts_set(&l->between, losses_within(&l->losses, from, to) ? PART_UNKNOWN : PART_SELF,
		  (uint64_t)(to - from));
	th->cursor_ns = to;
	l->sink->outside(l->sink, p);
}

/* …before a call that begins then: how long it was, if the listener gets it with that call. */
ALWAYS_INLINE uint64_t on_cpu_before(struct line *l, struct line_thread *th, int64_t start)
{
	int64_t from = th->cursor_ns;

	if (start <= from)
		return 0;
	if (l->sink->together && !losses_within(&l->losses, from, start))
		return (uint64_t)(start - from);
	on_cpu_until(l, th, start);
	return 0;
}

/* Its time begins with the first thing known of it that lies in no call: calls end after what is in
 * them. */
static inline void thread_seen(struct line_thread *th, int64_t start_ns)
{
	if (th->seen)
		return;
	th->seen = true;
	th->cursor_ns = start_ns;
}

/* Children of a call at depth 0 that never arrived: their parts are facts, what lies between them
 * is not known. */
NOINLINE static void orphans_outside(struct line *l, struct line_thread *th,
				     const struct nest_call *c)
{
	uint64_t span;

	if (c->orphans_ns)
		thread_seen(th, c->orphans_first_ns);
	if (c->orphans_ns == 0 || c->orphans_last_ns <= th->cursor_ns)
		return;
	span = (uint64_t)(c->orphans_last_ns - th->cursor_ns);
	if (span < c->orphans_ns) {
		parts_clear(c->orphans);
		parts_add(c->orphans, PART_UNKNOWN, 0, span);
	} else {
		parts_add(c->orphans, PART_UNKNOWN, 0, span - c->orphans_ns);
	}
	outside_until(l, th, c->orphans_last_ns, c->orphans, NULL, NULL);
}

static void orphans_flush(struct line *l, struct line_thread *th, int64_t before_ns)
{
	struct nest_call c = { .inner = &l->inner, .orphans = &l->orphans };

	parts_clear(&l->inner);
	parts_clear(&l->orphans);
	nest_take(&th->nest, 0, before_ns, before_ns, &c);
	orphans_outside(l, th, &c);
}

ALWAYS_INLINE struct line_piece piece_of(const struct line_thread *th, const struct event *ev,
					 const struct op_def *op)
{
	return (struct line_piece){ .ev = ev,
				    .op = op,
				    .thread = th->id,
				    .process = th->process,
				    .node = th->node,
				    .depth = ev->depth,
				    .start_ns = event_start(ev),
				    .end_ns = ev->end_ns,
				    .sound = true };
}

/* A span that is no call: inside the call that is open, or outside calls. */
static int place_interval(struct line *l, struct line_thread *th, const struct event *ev,
			  const struct op_def *op, struct parts *parts, struct err *e)
{
	int64_t start = event_start(ev);

	if (ev->depth > 0)
		return nest_add(&th->nest, NEST_OFFCPU, ev->depth, start, ev->end_ns, parts, false)
			       ? 0
			       : err_nomem(e);

	if (th->nest.deepest)
		orphans_flush(l, th, start);
	thread_seen(th, start);
	on_cpu_until(l, th, start);
	if (start < th->cursor_ns && ev->end_ns > th->cursor_ns) {
		parts_clear(parts);
		parts_add(parts, PART_UNKNOWN, 0, (uint64_t)(ev->end_ns - th->cursor_ns));
	}
	outside_until(l, th, ev->end_ns, parts, ev, op);
	return 0;
}

NOINLINE static int handle_offcpu(struct line *l, struct line_thread *th, const struct event *ev,
				  const struct op_def *op, struct err *e)
{
	struct blame_result *r = &l->offcpu;
	struct line_piece p = piece_of(th, ev, op);

	blame_offcpu(&l->blame, th, ev, op, r);
	locks_waited(&l->blame, th, ev->stack, r, &l->between);
	p.parts = &r->parts;
	l->sink->offcpu(l->sink, &p);
	if (!wakers_add(&th->wakers, &r->iv))
		return err_nomem(e);
	return place_interval(l, th, ev, op, &r->parts, e);
}

/* What the hypervisor took from a thread that had the CPU. */
NOINLINE static int handle_stolen(struct line *l, struct line_thread *th, const struct event *ev,
				  const struct op_def *op, struct err *e)
{
	struct line_piece p = piece_of(th, ev, op);

	p.parts = &l->leaf;
	parts_clear(&l->leaf);
	parts_add(&l->leaf, PART_STOLEN, 0, ev->dur_ns);
	l->sink->offcpu(l->sink, &p);
	return place_interval(l, th, ev, op, &l->leaf, e);
}

ALWAYS_INLINE int handle_call(struct line *l, struct line_thread *th, const struct event *ev,
			      const struct op_def *op, bool open, struct err *e)
{
	int64_t start = event_start(ev), before;
	struct nest_call c = { .inner = &l->inner, .orphans = &l->orphans };
	struct line_piece p = piece_of(th, ev, op);
	uint64_t self, overlap = 0;
	bool sync = op->flags & OP_SYNC;

	p.open = open;
	parts_clear(&l->inner);
	parts_clear(&l->orphans);
	nest_take(&th->nest, ev->depth, start, ev->end_ns, &c);
	if (ev->depth == 0) {
		if (c.orphans_ns)
			orphans_outside(l, th, &c);
		thread_seen(th, start);
	}
	before = ev->depth ? nest_last(&th->nest, ev->depth) : th->cursor_ns;
	if (before > start)
		overlap = before >= ev->end_ns ? ev->dur_ns : (uint64_t)(before - start);
	self = ev->dur_ns - c.inner_ns;
	p.sound = c.sound && overlap <= self;
	p.overlap_ns = overlap;
	p.calls_ns = c.calls_ns;
	p.parts = &l->inner;
	if (p.sound) {
		enum part on_cpu = sync && !c.sync ? PART_DEVICE : PART_SELF;

		if (open || losses_within(&l->losses, start, ev->end_ns))
			on_cpu = PART_UNKNOWN;
		if (sync)
			parts_to_device(&l->inner);
		parts_add(&l->inner, on_cpu, 0, self - overlap);
		parts_add(&l->inner, PART_UNKNOWN, 0, overlap);
	} else {
		parts_clear(&l->inner);
		parts_add(&l->inner, PART_UNKNOWN, 0, ev->dur_ns);
		l->totals.unsound++;
	}
	if (ev->depth == 0)
		p.before_ns = on_cpu_before(l, th, start);
	l->sink->call(l->sink, &p);
	if (ev->depth == 0) {
		if (ev->end_ns > th->cursor_ns)
			th->cursor_ns = ev->end_ns;
		return 0;
	}
	if (overlap) {
		l->inner.ns[PART_UNKNOWN] -= overlap;
		start += (int64_t)overlap;
	}
	return nest_add(&th->nest, NEST_CALL, ev->depth, start, ev->end_ns, &l->inner,
			sync || c.sync)
		       ? 0
		       : err_nomem(e);
}

NOINLINE static void add_migration(struct line_thread *th, const struct event *ev,
				   const struct op_def *op)
{
	uint64_t from, to;

	if (!event_get(ev, op, COL_CPU_OUT, &from) || !event_get(ev, op, COL_CPU_IN, &to))
		return;
	moves_add(&th->moves, ev->end_ns, (uint32_t)from, (uint32_t)to);
}

static int add_occupant(struct line *l, const struct event *ev, const struct op_def *op,
			struct err *e)
{
	const struct world_ctx *ctx = world_get_ctx(l->w, ev->ctx);
	uint64_t cpu, occupant;

	if (!event_get(ev, op, COL_CPU, &cpu) || !event_get(ev, op, COL_OCCUPANT, &occupant))
		return 0;
	if (!culprits_in_cgroup(&l->culprits, (uint32_t)occupant, ctx ? ctx->cgroup : 0) ||
	    !occupancy_add(&l->occupancy, ctx ? ctx->node : 0, (uint32_t)cpu, event_start(ev),
			   ev->end_ns, (uint32_t)occupant))
		return err_nomem(e);
	return 0;
}

/* A thread ends. Drops the state of threads that ended long ago; if another event of one came after
 * all, it would begin anew. */
static bool handle_exit(struct line *l, const struct event *ev)
{
	const struct world_ctx *ctx = world_get_ctx(l->w, ev->ctx);
	struct leaving *v;

	if (ctx && threads_get(&l->threads, ctx->thread) &&
	    !vec_push(&l->leaving, (struct leaving){ ctx->thread, ev->end_ns }))
		return false;
	v = l->leaving.v;
	for (; l->left < l->leaving.n && v[l->left].exit_ns + WAKERS_AGE_NS < ev->end_ns;
	     l->left++) {
		const struct line_thread *th = threads_get(&l->threads, v[l->left].thread);

		if (th && th->cursor_ns <= v[l->left].exit_ns)
			threads_forget(&l->threads, v[l->left].thread);
	}
	if (l->left > l->leaving.n / 2) {
		l->leaving.n -= l->left;
		memmove(v, v + l->left, l->leaving.n * sizeof(*v));
		l->left = 0;
	}
	return true;
}

/* An event that is not of a thread's own time. */
NOINLINE static int handle_other(struct line *l, const struct event *ev, const struct op_def *op,
				 struct err *e)
{
	if (ev->op == OP_PROC_EXIT)
		return handle_exit(l, ev) ? 0 : err_nomem(e);
	return ev->op == OP_SCHED_OCCUPIED ? add_occupant(l, ev, op, e) : 0;
}

/* An event of a thread's own time that is no call. */
NOINLINE static int handle_on_thread(struct line *l, struct line_thread *th, const struct event *ev,
				     const struct op_def *op, struct err *e)
{
	switch (ev->op) {
	case OP_CPU_SAMPLE:
		th->sample = ev->stack;
		th->sample_ns = ev->end_ns;
		return 0;
	case OP_SCHED_MIGRATE:
		add_migration(th, ev, op);
		return 0;
	case OP_SCHED_OFFCPU:
		return handle_offcpu(l, th, ev, op, e);
	case OP_SCHED_STOLEN:
		return handle_stolen(l, th, ev, op, e);
	default:
		return 0;
	}
}

#define ON_CPU_OR_DEVICE (1u << PART_SELF | 1u << PART_DEVICE)

/* The parts of an outermost call around others that are all inside it, with nothing lost and no
 * time taken by the host. False: it is not such a call. */
ALWAYS_INLINE bool fold_outer_call(struct line *l, struct nest *n, const struct event *ev,
				   int64_t start, bool sync)
{
	struct nest_level *in = n->deepest == 1 ? n->level[1] : NULL;
	struct parts *parts = &l->inner;

	if (!in || !in->ns || in->first_ns < start || in->last_ns > ev->end_ns ||
	    in->ns > ev->dur_ns || in->parts.mask & ~ON_CPU_OR_DEVICE || in->parts.nculprits)
		return false;
	parts->mask = in->parts.mask;
	parts->nculprits = 0;
	parts->ns[PART_SELF] = in->parts.ns[PART_SELF];
	parts->ns[PART_DEVICE] = in->parts.ns[PART_DEVICE];
	parts_add(parts, sync && !in->sync ? PART_DEVICE : PART_SELF, 0, ev->dur_ns - in->ns);
	l->plain.calls_ns = in->calls_ns;
	nest_level_clear(in);
	n->deepest = 0;
	return true;
}

/* The span of a call with no host time; the caller fills in what came before it. */
ALWAYS_INLINE struct line_piece *make_fast_piece(struct line *l, const struct line_thread *th,
						 const struct event *ev, const struct op_def *op,
						 int64_t start)
{
	struct line_piece *p = &l->plain;

	p->ev = ev;
	p->op = op;
	p->thread = th->id;
	p->process = th->process;
	p->node = th->node;
	p->depth = ev->depth;
	p->start_ns = start;
	p->end_ns = ev->end_ns;
	return p;
}

/* The slow path: any event but the common calls. */
NOINLINE static int slow_event(struct line *l, const struct event *ev, bool late, struct err *e)
{
	const struct op_def *op = op_of(l, ev->op);
	struct line_thread *th;
	bool nomem = false;

	if (late) {
		l->totals.late++;
		return 0;
	}
	if (!op)
		return 0;
	if (l->ops[ev->op].what == OTHER)
		return handle_other(l, ev, op, e);
	th = threads_of_ctx(&l->threads, ev->ctx, &nomem);
	if (!th)
		return nomem ? err_nomem(e) : 0;
	return l->ops[ev->op].what == CALL ? handle_call(l, th, ev, op, false, e)
					   : handle_on_thread(l, th, ev, op, e);
}

/* Whether no loss of events is known from that time on. */
ALWAYS_INLINE bool no_loss_since(const struct line *l, int64_t since_ns)
{
	return !l->losses.n || l->losses.newest_ns < since_ns;
}

/* Passes on an outermost call whose parts are in l->inner, with the time that its thread was on its
 * CPU before. */
ALWAYS_INLINE int emit_outer_call(struct line *l, struct line_thread *th, const struct event *ev,
				  const struct op_def *op)
{
	const int64_t start = event_start(ev);
	struct line_piece *p = make_fast_piece(l, th, ev, op, start);

	p->before_ns = (uint64_t)(start - th->cursor_ns);
	th->cursor_ns = ev->end_ns;
	return l->sink->plain(l->sink, p);
}

/* An outermost call that is around others. */
NOINLINE static int emit_outer_around(struct line *l, struct line_thread *th,
				      const struct event *ev, const struct op_def *op,
				      struct err *e)
{
	if (!fold_outer_call(l, &th->nest, ev, event_start(ev), op->flags & OP_SYNC))
		return slow_event(l, ev, false, e);
	return emit_outer_call(l, th, ev, op);
}

/* A call that is inside another, and around none. */
NOINLINE static int emit_inner_call(struct line *l, struct line_thread *th, const struct event *ev,
				    const struct op_def *op, struct err *e)
{
	const enum part part = op->flags & OP_SYNC ? PART_DEVICE : PART_SELF;
	struct nest_level *level = nest_ready(&th->nest, ev->depth);
	const int64_t start = event_start(ev);
	struct line_piece *p;

	if (!ev->dur_ns || !level || th->nest.deepest > ev->depth ||
	    (level->ns && level->last_ns > start) ||
	    !no_loss_since(l, level->ns ? level->last_ns : start))
		return slow_event(l, ev, false, e);
	parts_set(&l->inner, part, ev->dur_ns);
	nest_add_plain(&th->nest, level, ev->depth, start, ev->end_ns, part);
	p = make_fast_piece(l, th, ev, op, start);
	p->calls_ns = p->before_ns = 0;
	return l->sink->plain_inner(l->sink, p);
}

/* Fast path: most calls are outermost ones with no host time, and the time before them is known. */
int line_event(struct line *l, const struct event *ev, bool late, struct err *e)
{
	const struct line_op *o = &l->ops[ev->op];
	struct line_thread *th;

	l->totals.events++;
	if (o->what != CALL || late || ev->ctx >= l->threads.by_ctx.n)
		return slow_event(l, ev, late, e);
	th = l->threads.by_ctx.v[ev->ctx];
	if (!th)
		return slow_event(l, ev, late, e);
	if (ev->depth)
		return emit_inner_call(l, th, ev, o->def, e);
	if (!ev->dur_ns || !th->seen || th->cursor_ns > event_start(ev) ||
	    !no_loss_since(l, th->cursor_ns) || !l->sink->together)
		return slow_event(l, ev, late, e);
	if (th->nest.deepest)
		return emit_outer_around(l, th, ev, o->def, e);
	parts_set(&l->inner, o->def->flags & OP_SYNC ? PART_DEVICE : PART_SELF, ev->dur_ns);
	l->plain.calls_ns = 0;
	return emit_outer_call(l, th, ev, o->def);
}

int line_open(struct line *l, uint32_t thread, uint16_t op, int64_t start_ns, unsigned depth,
	      uint32_t stack, int64_t end_ns, struct err *e)
{
	struct line_thread *th = threads_get(&l->threads, thread);
	const struct op_def *def = op_of(l, op);
	struct event ev = { .end_ns = end_ns, .op = op, .depth = (uint16_t)depth, .stack = stack };

	/* A thread that never had an event has no context to hang the call on: nothing of it is
	 * known but the call. */
	if (!th || !def || end_ns <= start_ns || !(def->flags & OP_CALL))
		return 0;
	ev.ctx = th->ctx;
	ev.dur_ns = (uint64_t)(end_ns - start_ns);
	return handle_call(l, th, &ev, def, true, e);
}

int line_asleep(struct line *l, uint32_t thread, const struct event *ev, struct err *e)
{
	const struct op_def *op = op_of(l, ev->op);
	bool nomem = false;
	struct line_thread *th = op ? threads_of(&l->threads, thread, &nomem) : NULL;

	if (!th)
		return nomem ? err_nomem(e) : 0;
	return handle_offcpu(l, th, ev, op, e);
}
