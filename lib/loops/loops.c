/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes events to the threads whose loops are looked for. Most calls have the stack of the call
 * before, and end here. Events inside calls are left out: their calls come with the same stack.
 */
#include "lib/loops/loops.h"

#include "lib/base/compiler.h"
#include "lib/event/tier.h"
#include "lib/loops/loops_internal.h"

#define WAITS_TOLD  2	/* of one call: more than one is no anchor */
#define FORGET_MORE 256 /* threads, and twice as many as were left: it is looked which are over */

struct loops *loops_new(const struct world *w, struct loop_listener *listener)
{
	struct loops *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->w = w;
	l->listener = listener;
	l->lost_since_ns = l->lost_until_ns = INT64_MIN;
	l->over.over = true;
	l->forget_at = FORGET_MORE;
	python_lines_init(&l->lines, w);
	l->kinds = calloc(UINT16_MAX + 1, 1);
	if (!l->kinds) {
		free(l);
		return NULL;
	}
	return l;
}

/* What is needed while it lives. */
static void free_rows(struct loops_thread *th)
{
	for (unsigned i = 0; th->rows && i < LOOPS_ALL; i++)
		loop_row_free(&th->rows[i]);
	loops_tasks_free(th);
	free(th->rows);
	free(th->levels);
	th->rows = NULL;
	th->levels = NULL;
}

static void free_thread(struct loops_thread *th)
{
	free_rows(th);
	free(th);
}

void loops_free(struct loops *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->threads.n; i++)
		free_thread(l->threads.v[i]);
	for (size_t i = 0; i < l->v.n; i++)
		sketch_free(&l->v.v[i].dur);
	vec_free(&l->threads);
	vec_free(&l->by_thread);
	loops_calls_free(l);
	vec_free(&l->v);
	python_lines_free(&l->lines);
	stack_calls_free(&l->stack_calls);
	paused_free(&l->paused);
	free(l->kinds);
	free(l);
}

static bool is_trip(const struct op_def *def)
{
	if (def->source != SOURCE_CUDA && def->source != SOURCE_DRIVER &&
	    def->source != SOURCE_GRAPH)
		return false;
	return def->flags & (OP_SYNC | OP_COPY) || def->id == OP_CUDA_GRAPH_LAUNCH ||
	       def->id == OP_CU_GRAPH_LAUNCH;
}

COLD_CALL static enum loops_kind find_kind(struct loops *l, uint16_t op)
{
	const struct op_def *def = world_op(l->w, op);
	enum loops_kind kind = LOOPS_IGNORED;

	if (op == OP_CPU_SAMPLE)
		kind = LOOPS_SAMPLE;
	else if (op == OP_SCHED_OFFCPU)
		kind = LOOPS_WAIT;
	else if (op == OP_PROC_EXIT)
		kind = LOOPS_EXIT;
	else if (def && def->flags & OP_CALL)
		kind = op_tier(op) == TIER_LAUNCHES ? LOOPS_LAUNCH : LOOPS_CALL;
	l->kinds[op] = (uint8_t)kind;
	if (kind == LOOPS_CALL && def->flags & OP_SYNC)
		l->kinds[op] |= LOOPS_WAITS;
	if (kind == LOOPS_CALL && is_trip(def))
		l->kinds[op] |= LOOPS_TRIP;
	return kind;
}

/* NULL: out of memory, or there are too many. */
COLD_CALL static struct loops_thread *new_thread(struct loops *l, uint32_t id, uint32_t node)
{
	struct loops_thread *th = calloc(1, sizeof(*th));

	if (!th || !vec_reserve(&l->threads, 1) || !vec_reach(&l->by_thread, id)) {
		free(th);
		l->nomem = true;
		return NULL;
	}
	th->id = id;
	th->node = node;
	th->process = world_get_thread(l->w, id) ? world_get_thread(l->w, id)->process : 0;
	th->current = -1;
	th->told_ns = INT64_MIN;
	th->beyond_ns = LOOPS_NEVER;
	l->threads.v[l->threads.n++] = th;
	l->by_thread.v[id] = th;
	l->living++;
	return th;
}

/* Of an event's context; NULL: it has none, and is not to have one. */
static struct loops_thread *thread_of(struct loops *l, uint32_t ctx, bool create)
{
	const struct world_ctx *c = world_get_ctx(l->w, ctx);
	struct loops_thread *th = NULL;

	if (!c || !c->thread)
		return NULL;
	if (c->thread < l->by_thread.n)
		th = l->by_thread.v[c->thread];
	if (!th && create && l->living < LOOPS_THREADS)
		th = new_thread(l, c->thread, c->node);
	l->last_ctx = ctx;
	l->last = th;
	return th;
}

static void finish_thread(struct loops *l, struct loops_thread *th)
{
	if (th->over)
		return;
	if (th->current < 0 && th->rows)
		loops_choose(l, th, true);
	if (th->current >= 0)
		loops_tell_end(l, th, loops_end_ns(l, th));
	loops_calls_leave(l, th);
	free_rows(th);
	th->over = true;
	l->living--;
}

/* Drops threads that ended without making steps: they cannot make any more. */
static void forget_threads(struct loops *l)
{
	size_t keep = 0;

	for (size_t i = 0; i < l->threads.n; i++) {
		struct loops_thread *th = l->threads.v[i];

		if (!th->over || th->told_ns != INT64_MIN) {
			l->threads.v[keep++] = th;
			continue;
		}
		l->by_thread.v[th->id] = &l->over;
		free_thread(th);
	}
	l->threads.n = keep;
	l->last = NULL;
	l->last_ctx = 0;
	l->forget_at = 2 * keep + FORGET_MORE;
}

/* A thread that executes Python has them. */
COLD_CALL static bool make_rows(struct loops *l, struct loops_thread *th)
{
	th->levels = calloc(LOOPS_DEPTH, sizeof(*th->levels));
	th->rows = calloc(LOOPS_ALL, sizeof(*th->rows));
	if (th->levels && th->rows)
		return true;
	free_rows(th);
	l->nomem = true;
	return false;
}

/* What the innermost line calls; 0: it is no call. */
static uint32_t callee_of(const struct loops *l, const struct event *ev, enum loops_kind kind)
{
	uint32_t callee = LOOP_CALLEE_OP | ev->op;

	if (l->kinds[ev->op] & LOOPS_WAITS)
		callee |= LOOP_CALLEE_SYNC;
	return kind <= LOOPS_CALL ? callee : 0;
}

/* It fell asleep, and was not only without a CPU. */
static bool is_asleep(const struct event *ev)
{
	uint64_t wait = 0;

	event_get(ev, op_builtin(ev->op), COL_WAIT_NS, &wait);
	return wait < ev->dur_ns;
}

/* A program always waits at the same places for whom it waits for; for the interpreter's lock, a
 * page, at a probe or for a CPU it may wait anywhere. */
static bool is_own_wait(const struct event *ev)
{
	uint64_t object = OBJECT_NONE;

	event_get(ev, op_builtin(OP_SCHED_OFFCPU), COL_OBJECT_KIND, &object);
	return is_asleep(ev) && object != OBJECT_GIL && object != OBJECT_FAULT &&
	       object != OBJECT_PROBE && object != OBJECT_MAP;
}

static enum loop_seen seen_by(const struct event *ev, enum loops_kind kind)
{
	if (kind <= LOOPS_CALL)
		return LOOP_SEEN_CALL;
	return kind == LOOPS_WAIT && is_own_wait(ev) ? LOOP_SEEN_WAIT : LOOP_SEEN_SAMPLE;
}

NOINLINE static void handle_stack(struct loops *l, struct loops_thread *th, const struct event *ev,
				  enum loops_kind kind)
{
	const struct python_line *lines;
	unsigned n, task;

	th->callee = callee_of(l, ev, kind);
	if (!python_lines_get(&l->lines, ev->stack, &lines, &n, &task))
		l->nomem = true;
	else if (n && (th->rows || make_rows(l, th)))
		loops_walk(l, th, lines, n, task, event_start(ev), seen_by(ev, kind));
	if (n && !th->python) {
		th->python = true;
		loops_calls_exclude(l, th);
	}
	th->has_lines = n > 0 && th->rows;
	th->stack = ev->stack;
}

/* A call with the stack of the event before. */
NOINLINE static void handle_leaf(struct loops *l, struct loops_thread *th, const struct event *ev,
				 enum loops_kind kind)
{
	uint32_t callee = callee_of(l, ev, kind);

	if (!callee || callee == th->callee || !th->has_lines)
		return;
	th->callee = callee;
	loops_walk_leaf(l, th, event_start(ev), callee);
}

/* The line of the current loop's function; 0: it is not on the stack. */
static uint32_t current_line(const struct loops_thread *th)
{
	unsigned depth = th->current >= 0 ? th->rows[th->current].depth : 0;

	if (th->current < 0 || depth >= th->nlevels || th->levels[depth].row != th->current)
		return 0;
	return th->levels[depth].line;
}

/* Nothing was seen of the thread for so long that iterations may be hidden there: from one line to
 * a later one as many as fit, from a line to itself so many that they fill it. */
NOINLINE static void handle_gap(struct loops *l, struct loops_thread *th, const struct event *ev,
				enum loops_kind kind)
{
	uint64_t gap = (uint64_t)(event_start(ev) - th->free_ns);
	uint32_t line = current_line(th);
	uint64_t median = th->current >= 0 ? th->median_ns : 0;

	th->idle_ns += gap >= LOOPS_IDLE_NS ? gap : 0;
	if (median)
		th->hidden += gap / median;
	if (ev->stack != th->stack)
		handle_stack(l, th, ev, kind);
	else
		handle_leaf(l, th, ev, kind);
	if (median && line && line == current_line(th) && gap % median * 4 >= median * 3)
		th->hidden++;
}

/* A wait without a stack: if it is longer than a step, it hides none. */
static void handle_wait(struct loops_thread *th, const struct event *ev)
{
	int64_t gap = event_start(ev) - th->free_ns;

	if (!th->first_ns || th->current < 0 || !th->median_ns || ev->dur_ns < th->median_ns)
		return;
	th->hidden += gap > 0 ? (uint64_t)gap / th->median_ns : 0;
	th->free_ns = ev->end_ns;
}

/* How long nothing is seen of the thread where iterations may be hidden. */
static inline int64_t gap_least(const struct loops_thread *th)
{
	uint64_t least = th->median_ns / 4 * 3;

	return least && least < LOOPS_IDLE_NS ? (int64_t)least : LOOPS_IDLE_NS;
}

/* Waits inside of a call: of one that returned, and of one whose probes were detached, which the
 * stack of the wait names. */
NOINLINE static void handle_waits_inside(struct loops *l, struct loops_thread *th,
					 const struct event *ev, enum loops_kind kind)
{
	const struct stack_call *call;
	unsigned n = kind <= LOOPS_CALL ? th->waits_inside : 0;

	if (kind == LOOPS_WAIT && !stack_calls_find(&l->stack_calls, l->w, ev->stack, &call))
		l->nomem = true;
	else if (kind == LOOPS_WAIT && call->op)
		n = 1;
	for (unsigned i = 0; i < n && i < WAITS_TOLD; i++)
		loops_begin_waited(l, th, kind == LOOPS_WAIT ? call->op : ev->op, event_start(ev));
}

static bool is_unended(const struct event *ev)
{
	uint64_t cpu;

	return ev->op == OP_SCHED_OFFCPU &&
	       !event_get(ev, op_builtin(OP_SCHED_OFFCPU), COL_CPU_IN, &cpu);
}

static void handle_wait_in_lines(struct loops *l, struct loops_thread *th, const struct event *ev)
{
	uint64_t object = OBJECT_NONE;

	event_get(ev, op_builtin(OP_SCHED_OFFCPU), COL_OBJECT_KIND, &object);
	if (object != OBJECT_NONE && is_own_wait(ev))
		loops_begin_asleep(l, th, (uint8_t)object, event_start(ev));
	loops_begin_left(l, th, ev->op, event_start(ev));
}

/* Whether the stack is known to have no Python frames. */
static inline bool has_no_lines(const struct loops *l, uint32_t stack)
{
	return stack < l->lines.stacks.n && l->lines.stacks.v[stack].decoded &&
	       !l->lines.stacks.v[stack].n;
}

/* A call of a thread that never had Python frames, nor has now: without rows, nothing begins. */
ALWAYS_INLINE void handle_native_call(struct loops *l, struct loops_thread *th,
				      const struct event *ev, enum loops_kind kind)
{
	const int64_t start = event_start(ev), gap = start - th->free_ns;

	if (ev->stack != th->stack)
		th->callee = callee_of(l, ev, kind);
	th->stack = ev->stack;
	th->calls++;
	th->idle_ns += gap >= LOOPS_IDLE_NS ? (uint64_t)gap : 0;
	th->before_ns = th->last_ns;
	th->last_ns = ev->end_ns;
	th->unended_ns = LOOPS_NEVER;
	if (ev->end_ns > th->free_ns)
		th->free_ns = ev->end_ns;
	th->waits_inside = 0;
	if (l->kinds[ev->op] & LOOPS_TRIP)
		loops_calls_add(l, th, ev);
}

static int handle_event(struct loops *l, struct loops_thread *th, const struct event *ev,
			enum loops_kind kind)
{
	if (!th->first_ns)
		th->first_ns = th->free_ns = event_start(ev);
	th->calls += kind <= LOOPS_CALL;
	if (event_start(ev) - th->free_ns >= gap_least(th))
		handle_gap(l, th, ev, kind);
	else if (ev->stack != th->stack)
		handle_stack(l, th, ev, kind);
	else if (kind <= LOOPS_CALL && (uint16_t)th->callee != ev->op)
		handle_leaf(l, th, ev, kind);
	th->before_ns = th->last_ns;
	th->last_ns = ev->end_ns;
	th->waited_ns += kind == LOOPS_WAIT ? ev->dur_ns : 0;
	th->unended_ns = is_unended(ev) ? event_start(ev) : LOOPS_NEVER;
	if (ev->end_ns > th->free_ns)
		th->free_ns = ev->end_ns;
	if (th->has_lines && ev->end_ns > th->lines_ns)
		th->lines_ns = ev->end_ns;
	if (kind == LOOPS_CALL && th->nwatched)
		loops_begin_anchored(l, th, ev->op, event_start(ev));
	else if (kind == LOOPS_WAIT && th->has_lines)
		handle_wait_in_lines(l, th, ev);
	if ((kind == LOOPS_WAIT || th->waits_inside) && th->nwatched)
		handle_waits_inside(l, th, ev, kind);
	if (kind <= LOOPS_CALL)
		th->waits_inside = 0;
	if (th->current >= 0)
		loops_check_left(l, th, event_start(ev));
	if (l->kinds[ev->op] & LOOPS_TRIP && !th->python)
		loops_calls_add(l, th, ev);
	return l->nomem ? ERR_NOMEM : 0;
}

int loops_event(struct loops *l, const struct event *ev, struct err *e)
{
	enum loops_kind kind = l->kinds[ev->op] & ~LOOPS_FLAGS;
	struct loops_thread *th = l->last;
	bool create;

	if (kind == LOOPS_UNSET)
		kind = find_kind(l, ev->op);
	if (kind == LOOPS_IGNORED || (ev->depth && kind != LOOPS_WAIT) ||
	    (!ev->stack && kind < LOOPS_WAIT))
		return 0;
	create = ev->stack && !ev->depth;
	if (ev->ctx != l->last_ctx || (!th && create))
		th = thread_of(l, ev->ctx, create);
	if (!th || th->over)
		return l->nomem ? err_nomem(e) : 0;
	if (kind == LOOPS_WAIT && th->process_calls)
		loops_calls_wait(l, th, ev);
	if (ev->depth) {
		th->waits_inside += ev->op == OP_SCHED_OFFCPU && is_asleep(ev);
		return 0;
	}
	if (kind == LOOPS_WAIT && !ev->stack) {
		handle_wait(th, ev);
		return 0;
	}
	/* Without a CPU it was at that place by chance. */
	if (kind == LOOPS_WAIT && !is_asleep(ev))
		kind = LOOPS_SAMPLE;
	if (kind == LOOPS_EXIT) {
		finish_thread(l, th);
		if (l->threads.n >= l->forget_at)
			forget_threads(l);
		return l->nomem ? err_nomem(e) : 0;
	}
	if (kind <= LOOPS_CALL && !th->python && !th->rows && th->first_ns &&
	    has_no_lines(l, ev->stack)) {
		handle_native_call(l, th, ev, kind);
		return l->nomem ? err_nomem(e) : 0;
	}
	return handle_event(l, th, ev, kind) ? err_nomem(e) : 0;
}

int loops_record(struct loops *l, const struct record *r, struct err *e)
{
	return r->kind != RECORD_PAUSED || paused_record(&l->paused, r) ? 0 : err_nomem(e);
}

void loops_lost(struct loops *l, int64_t since_ns, int64_t until_ns)
{
	l->lost_since_ns = since_ns;
	l->lost_until_ns = until_ns > since_ns ? until_ns : since_ns + 1;
}

int loops_finish(struct loops *l, struct err *e)
{
	for (size_t i = 0; i < l->threads.n; i++)
		finish_thread(l, l->threads.v[i]);
	return l->nomem ? err_nomem(e) : 0;
}

size_t loops_count(const struct loops *l)
{
	return l->v.n;
}

const struct loop *loops_get(const struct loops *l, size_t i)
{
	return i < l->v.n ? &l->v.v[i] : NULL;
}

int loops_main(const struct loops *l, uint32_t thread)
{
	int best = -1;

	for (size_t i = 0; i < l->v.n; i++) {
		const struct loop *loop = &l->v.v[i];

		if (loop->thread == thread && !loop->is_void && loop->count &&
		    (best < 0 || loop->ns > l->v.v[best].ns))
			best = (int)i;
	}
	return best;
}

void loops_memory(const struct loops *l, struct loops_memory *m)
{
	*m = (struct loops_memory){ .threads = l->living };
	for (size_t i = 0; i < l->threads.n; i++) {
		const struct loops_thread *th = l->threads.v[i];

		for (unsigned k = 0; th->rows && k < LOOPS_ALL; k++) {
			m->rows += th->rows[k].path != 0;
			m->begins += th->rows[k].begins.n;
		}
	}
}
