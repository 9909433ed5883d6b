/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a recording: hands each event to the log of its thread, and lets anchors be
 * walked when enough of their life is known. A call costs one lookup of its thread and two
 * segments; only off-CPU intervals do more.
 */
#include "lib/path/path.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/compiler.h"
#include "lib/path/killed.h"
#include "lib/path/path_ended.h"
#include "lib/path/path_state.h"
#include "lib/path/path_walk.h"
#include "lib/path/retain.h"

struct path *path_new(const struct world *w, const struct path_options *o,
		      struct path_listener *listener)
{
	struct path *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->w = w;
	p->keys.edges = &p->edges;
	p->listener = listener;
	if (o)
		p->opt = *o;
	if (!p->opt.segments_max)
		p->opt.segments_max = PATH_SEGMENTS_MAX;
	if (!p->opt.patience_ns)
		p->opt.patience_ns = PATH_PATIENCE_NS;
	p->now_ns = INT64_MIN / 2;
	p->expire_ns = INT64_MIN;
	if (!p->opt.forget_least)
		p->opt.forget_least = PATH_ENDED_LEAST;
	p->forget_at = p->opt.forget_least;
	p->look_at = p->opt.segments_max / 8;
	return p;
}

void path_free(struct path *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->threads.n; i++) {
		if (p->threads.v[i])
			path_thread_free(p->threads.v[i]);
		free(p->threads.v[i]);
	}
	vec_free(&p->threads);
	vec_free(&p->by_ctx);
	vec_free(&p->tracks);
	vec_free(&p->submitters);
	vec_free(&p->offcpu.v);
	vec_free(&p->ready);
	vec_free(&p->ended);
	vec_free(&p->forgotten);
	occupancy_free(&p->occupancy);
	releases_free(&p->releases);
	mixes_free(&p->mixes);
	segment_keys_free(&p->keys);
	stack_calls_free(&p->stack_calls);
	vec_free(&p->disks.v);
	map_free(&p->sockets);
	map_free(&p->lossy);
	map_free(&p->peers);
	map_free(&p->readies);
	map_free(&p->ready_sockets);
	vec_free(&p->event_loops);
	vec_free(&p->lock_stacks);
	sampled_edges_free(&p->edges);
	vec_free(&p->queued);
	free(p);
}

/* ---- threads ---- */

static void add_track(struct path *p, struct path_thread *th)
{
	if (th->track)
		return;
	if (!vec_push(&p->tracks, (struct path_track){ .thread = th->id }))
		p->nomem = true;
	else
		th->track = (uint32_t)p->tracks.n;
}

/* NULL: the world has no such thread, it has ended and was given back, or memory is exhausted
 * (p->nomem). */
static struct path_thread *thread_of(struct path *p, uint32_t id)
{
	struct path_thread *th = path_thread_known(p, id);
	const struct world_thread *t =
		th || path_ended_of(p, id) ? NULL : world_get_thread(p->w, id);
	const struct world_process *process = t ? world_get_process(p->w, t->process) : NULL;

	if (th || !t)
		return th;
	th = vec_reach(&p->threads, id) ? calloc(1, sizeof(*th)) : NULL;
	if (!th) {
		p->nomem = true;
		return NULL;
	}
	th->id = th->log.thread = id;
	th->log.keys = &p->keys;
	th->process = t->process;
	th->node = process ? process->node : 0;
	p->threads.v[id] = th;
	return th;
}

/* The thread of an event's context; its process's main thread is an anchor from its first event
 * on. */
COLD_CALL static struct path_thread *thread_of_ctx(struct path *p, uint32_t ctx)
{
	const struct world_ctx *c = world_get_ctx(p->w, ctx);
	struct path_thread *th = c ? thread_of(p, c->thread) : NULL;
	const struct world_thread *t = th ? world_get_thread(p->w, th->id) : NULL;
	const struct world_process *process = t ? world_get_process(p->w, t->process) : NULL;

	if (!th || !vec_reach(&p->by_ctx, ctx)) {
		p->nomem |= th != NULL;
		return NULL;
	}
	p->by_ctx.v[ctx] = th;
	if (process && process->tgid == t->tid)
		add_track(p, th);
	return th;
}

static inline struct path_thread *thread_of_event(struct path *p, const struct event *ev)
{
	if (ev->ctx < p->by_ctx.n && p->by_ctx.v[ev->ctx])
		return p->by_ctx.v[ev->ctx];
	return thread_of_ctx(p, ev->ctx);
}

/* A thread that submits work is an anchor, too, if its process has not enough of them. */
COLD_CALL static void add_submitter(struct path *p, struct path_thread *th)
{
	if (!vec_reach(&p->submitters, th->process)) {
		p->nomem = true;
		return;
	}
	if (p->submitters.v[th->process] >= PATH_SUBMITTERS)
		return;
	p->submitters.v[th->process]++;
	add_track(p, th);
}

/* ---- events ---- */

COLD_CALL static const struct path_op *op_learn(struct path *p, uint16_t op)
{
	struct path_op *o = &p->ops[op];

	o->def = world_op(p->w, op);
	if (!o->def)
		return o;
	o->submits = o->def->flags & (OP_SUBMIT | OP_SYNC);
	if (o->def->flags & OP_CALL)
		o->kind = o->def->flags & OP_SYNC ? PATH_OP_SYNC : PATH_OP_CALL;
	else if (op == OP_SCHED_OCCUPIED || op == OP_SCHED_OUTSIDE)
		o->kind = PATH_OP_OTHER;
	else
		o->kind = PATH_OP_THREAD;
	return o;
}

static void on_occupied(struct path *p, const struct event *ev, const struct op_def *def)
{
	const struct world_ctx *ctx = world_get_ctx(p->w, ev->ctx);
	uint64_t cpu, occupant;

	if (event_get(ev, def, COL_CPU, &cpu) && event_get(ev, def, COL_OCCUPANT, &occupant) &&
	    !occupancy_add(&p->occupancy, ctx ? ctx->node : 0, (uint32_t)cpu, event_start(ev),
			   ev->end_ns, (uint32_t)occupant))
		p->nomem = true;
}

/* The thread that ended the wait is kept, whether or not it is recorded. */
static void note_release(struct path *p, const struct path_thread *th, struct segment *wait)
{
	if (wait->state != SEGMENT_WAITING)
		return;
	if (!thread_of(p, wait->who) && !path_ended_of(p, wait->who)) {
		wait->state = SEGMENT_BLOCKED;
		wait->flags &= (uint16_t)~SEGMENT_ACT_UNKNOWN;
	} else if (!releases_add(&p->releases, th->id, wait->who)) {
		p->nomem = true;
	}
}

int64_t path_known_until(const struct path *p, uint32_t thread)
{
	const struct path_thread *th = path_thread_known(p, thread);

	return th ? path_thread_end(th) : INT64_MIN;
}

/* Where a runnable thread stands: where it fell asleep or, if it did not, where it was last seen;
 * who yields, where a CPU sample saw it do so. */
static void place_runnable(struct path_thread *th, const struct event *ev,
			   struct offcpu_segments *o)
{
	uint32_t line = ev->stack ? ev->stack : path_thread_line(th);
	bool woken = o->v.n && segment_blocked(&o->v.v[0]);

	for (size_t i = 0; i < o->v.n; i++) {
		struct segment *s = &o->v.v[i];

		if (segment_yields(s) && !ev->stack) {
			s->line = th->yields;
			th->yielded = true;
		} else if (!segment_blocked(s)) {
			s->line = line;
			if (!woken && (ev->stack || path_thread_is_sampled(th)))
				s->flags |= SEGMENT_SAMPLED;
		}
	}
}

/* A call of which there is no event. */
static bool note_call(struct path *p, uint32_t stack, struct offcpu_segments *o)
{
	const struct stack_call *call;

	if (!stack_calls_find(&p->stack_calls, p->w, stack, &call))
		return false;
	for (size_t i = 0; call->op && i < o->v.n; i++) {
		o->v.v[i].op = call->op;
		o->v.v[i].flags |= call->sync ? SEGMENT_IN_SYNC : 0;
	}
	return true;
}

static void on_offcpu(struct path *p, struct path_thread *th, const struct event *ev,
		      const struct op_def *def)
{
	struct offcpu_segments *o = &p->offcpu;
	struct segment *wait;

	if (!offcpu_segments(p->w, &p->occupancy, &p->losses, th, ev, def, o)) {
		p->nomem = true;
		return;
	}
	place_runnable(th, ev, o);
	if (!ev->depth && !note_call(p, ev->stack, o)) {
		p->nomem = true;
		return;
	}
	wait = o->v.n && segment_blocked(&o->v.v[0]) ? &o->v.v[0] : NULL;
	if (wait) {
		path_sockets_take(p, th, ev, def, wait);
		if (wait->object == OBJECT_POLL)
			path_ready_take(p, th, ev->end_ns, wait);
		disk_requests_place(&p->disks, th->process, ev, def, wait);
		path_locks_note(p, ev, wait);
		note_release(p, th, wait);
		path_gave_way(p, th, ev, wait);
	}
	path_tasks_wait(p, th, ev, wait);
	path_timed_next(p, th, ev, def, wait);
	if (!path_thread_add(th, &p->losses, ev->depth, event_start(ev), o->v.v, o->v.n))
		p->nomem = true;
}

/* An off-CPU interval of a thread that is of no recorded process. */
static void on_outside(struct path *p, const struct event *ev, const struct op_def *def)
{
	uint64_t id;
	struct path_thread *th =
		event_get(ev, def, COL_RELEASER, &id) ? thread_of(p, (uint32_t)id) : NULL;

	if (!th)
		return;
	th->outside = true;
	on_offcpu(p, th, ev, def);
	path_walk_pending(p, th);
}

static void on_fork(struct path *p, const struct path_thread *th, const struct event *ev,
		    const struct op_def *def)
{
	uint64_t id;
	struct path_thread *child =
		event_get(ev, def, COL_CHILD, &id) ? thread_of(p, (uint32_t)id) : NULL;

	if (!child || child->log.begun || child == th)
		return;
	child->creator = th->id;
	segment_log_begin(&child->log, ev->end_ns);
}

static bool on_migrate(struct path_thread *th, const struct event *ev, const struct op_def *def)
{
	uint64_t from, to;

	if (!event_get(ev, def, COL_CPU_OUT, &from) || !event_get(ev, def, COL_CPU_IN, &to))
		return true;
	if (!th->moves)
		th->moves = calloc(1, sizeof(*th->moves));
	if (th->moves)
		moves_add(th->moves, ev->end_ns, (uint32_t)from, (uint32_t)to);
	return th->moves != NULL;
}

/* Whether its innermost frame is the function of the C library that yields. */
static bool stack_yields(const struct world *w, uint32_t stack)
{
	unsigned n;
	const uint32_t *frames = world_get_stack(w, stack, &n);
	const struct world_symbol *f = frames && n ? world_get_symbol(w, frames[0]) : NULL;
	struct bytes name = f ? world_text(w, f->name) : (struct bytes){ 0 };

	return bytes_equal(name, bytes_of("sched_yield")) ||
	       bytes_equal(name, bytes_of("__sched_yield"));
}

static bool on_sample(struct path *p, struct path_thread *th, const struct event *ev)
{
	const struct stack_call *call;

	if (!stack_calls_find(&p->stack_calls, p->w, ev->stack, &call))
		return false;
	if (th->yielded && stack_yields(p->w, ev->stack))
		th->yields = ev->stack;
	return path_thread_sample(th, &p->losses, ev->end_ns, ev->stack, call);
}

/* What is blocked in such a section is marked with. */
static uint16_t section_flags(const struct event *ev, const struct op_def *def)
{
	uint64_t file;

	if (ev->op != OP_MEM_FAULT)
		return SEGMENT_GETS_MEMORY;
	return event_get(ev, def, COL_FILE, &file) && file ? SEGMENT_FILE_PAGE : SEGMENT_SWAPPED;
}

static bool on_section(struct path *p, struct path_thread *th, const struct event *ev,
		       const struct op_def *def)
{
	uint16_t flags = section_flags(ev, def);
	struct segment s = { .end_ns = ev->end_ns,
			     .line = ev->stack,
			     .state = ev->op == OP_MEM_RECLAIM	 ? SEGMENT_RECLAIM
				      : ev->op == OP_MEM_COMPACT ? SEGMENT_COMPACT
								 : SEGMENT_FAULT_IN,
			     .flags = ev->op == OP_MEM_FAULT ? flags : 0 };

	return path_thread_section(th, &p->losses, ev->depth, event_start(ev),
				   ev->end_ns - PATH_LAG_NS, &s, flags);
}

static bool on_stolen(struct path *p, struct path_thread *th, const struct event *ev)
{
	const struct segment s = { .end_ns = ev->end_ns, .state = SEGMENT_STOLEN };

	return path_thread_add(th, &p->losses, ev->depth, event_start(ev), &s, 1);
}

NOINLINE static void on_thread(struct path *p, struct path_thread *th, const struct event *ev,
			       const struct op_def *def)
{
	uint64_t status;
	bool done = true;

	switch (ev->op) {
	case OP_SCHED_OFFCPU:
		on_offcpu(p, th, ev, def);
		break;
	case OP_SCHED_MIGRATE:
		done = on_migrate(th, ev, def);
		break;
	case OP_SCHED_STOLEN:
		done = on_stolen(p, th, ev);
		break;
	case OP_CPU_SAMPLE:
		if (ev->depth == 0 && ev->stack)
			done = on_sample(p, th, ev);
		break;
	case OP_MEM_RECLAIM:
	case OP_MEM_COMPACT:
	case OP_MEM_FAULT:
		done = on_section(p, th, ev, def);
		break;
	case OP_IO_BLOCK:
		done = disk_requests_add(&p->disks, th->process, ev, def);
		break;
	case OP_NET_SOCKET:
		done = path_sockets_wait(p, th, ev, def);
		break;
	case OP_NET_RETRANSMIT:
		done = path_sockets_lost(p, ev, def);
		break;
	case OP_PROC_FORK:
		on_fork(p, th, ev, def);
		break;
	case OP_PROC_EXIT:
		done = path_thread_until(th, &p->losses, ev->end_ns) &&
		       (!event_get(ev, def, COL_STATUS, &status) || !(status & KILLED_SIGNAL) ||
			path_thread_killed(th));
		if (!th->exited && p->opt.forget_ns)
			done &= vec_push(&p->ended, th->id);
		if (p->ended.n >= p->forget_at)
			p->look_at = 0;
		th->exited = true;
		th->walk_at = 0; /* all of it is known */
		break;
	default:
		break;
	}
	if (!done)
		p->nomem = true;
}

static inline bool on_call(struct path *p, struct path_thread *th, const struct event *ev,
			   const struct path_op *o)
{
	const struct path_call c = { .depth = ev->depth,
				     .start_ns = event_start(ev),
				     .end_ns = ev->end_ns,
				     .op = ev->op,
				     .line = ev->stack,
				     .site = ev->site,
				     .sync = o->kind == PATH_OP_SYNC };

	if (o->submits && !th->track)
		add_submitter(p, th);
	return path_thread_call(th, &p->losses, &c);
}

/* Periodic work, due by event time or number of events. */
NOINLINE static void run_periodic(struct path *p)
{
	if (p->now_ns >= p->expire_ns) {
		p->expire_ns = p->now_ns + p->opt.patience_ns / 8;
		path_walk_expired(p);
		if (p->ended.n >= p->opt.forget_least)
			p->forget_at = p->ended.n;
	}
	if (p->ended.n >= p->forget_at)
		path_ended_forget(p);
	if (p->events >= p->opt.segments_max / 8) {
		p->events = 0;
		retain_some(p);
	}
	p->look_at = p->opt.segments_max / 8;
}

void path_event_ahead(const struct path *p, const struct event *ev)
{
	const struct path_thread *th = ev->ctx < p->by_ctx.n ? p->by_ctx.v[ev->ctx] : NULL;

	if (ev->depth == 0 && th)
		segment_call_ahead(&p->keys, th->id, ev->stack, ev->site);
}

/* Walks the paths that the thread's new segments make known. */
static inline int walk_waiting(struct path *p, struct path_thread *th, struct err *e)
{
	if (th->pending.n)
		path_walk_pending(p, th);
	if (th->track && th->log.v.n >= th->walk_at)
		path_walk_track(p, &p->tracks.v[th->track - 1]);
	return p->nomem ? err_nomem(e) : 0;
}

NOINLINE static int any_event(struct path *p, const struct event *ev, const struct path_op *o,
			      struct err *e)
{
	struct path_thread *th;

	if (o->kind == PATH_OP_OTHER) {
		if (ev->op == OP_SCHED_OCCUPIED)
			on_occupied(p, ev, o->def);
		else
			on_outside(p, ev, o->def);
		return p->nomem ? err_nomem(e) : 0;
	}
	th = thread_of_event(p, ev);
	if (!th)
		return p->nomem ? err_nomem(e) : 0;
	if (th->timed.open && ev->op != OP_SCHED_OFFCPU && ev->op != OP_SCHED_MIGRATE) {
		path_timed_ran(p, th, ev->end_ns);
		if (o->kind == PATH_OP_CALL || o->kind == PATH_OP_SYNC)
			timed_waits_called(&th->timed);
	}
	if (th->awaits && ev->stack)
		path_tasks_event(p, th, ev);
	if (o->kind == PATH_OP_THREAD)
		on_thread(p, th, ev, o->def);
	else if (!on_call(p, th, ev, o))
		p->nomem = true;
	return walk_waiting(p, th, e);
}

int path_event(struct path *p, const struct event *ev, struct err *e)
{
	const struct path_op *o = &p->ops[ev->op];
	struct path_thread *th;

	if (ev->end_ns > p->now_ns)
		p->now_ns = ev->end_ns;
	if (o->kind == PATH_OP_NEW)
		o = op_learn(p, ev->op);
	if (o->kind == PATH_OP_NEW || p->finished)
		return 0;
	p->events++;
	if (p->now_ns >= p->expire_ns || p->events >= p->look_at)
		run_periodic(p);
	if (o->kind > PATH_OP_SYNC)
		return any_event(p, ev, o, e);
	if (ev->depth && o->kind == PATH_OP_CALL)
		return 0;
	th = ev->ctx < p->by_ctx.n ? p->by_ctx.v[ev->ctx] : NULL;
	if (!th || ev->depth || (o->submits && !th->track) ||
	    !path_thread_is_plain(th, &p->losses, event_start(ev), ev->end_ns))
		return any_event(p, ev, o, e);
	if (!path_thread_plain_call(th,
				    &(const struct path_call){ .start_ns = event_start(ev),
							       .end_ns = ev->end_ns,
							       .op = ev->op,
							       .line = ev->stack,
							       .site = ev->site,
							       .sync = o->kind == PATH_OP_SYNC }))
		p->nomem = true;
	return walk_waiting(p, th, e);
}

/* ---- the end ---- */

int path_open(struct path *p, uint32_t thread, uint16_t op, int64_t start_ns, unsigned depth,
	      uint32_t stack, int64_t end_ns, struct err *e)
{
	struct path_thread *th = path_thread_known(p, thread);
	const struct path_op *o = op_learn(p, op);
	struct event ev = { .end_ns = end_ns, .op = op, .depth = (uint16_t)depth, .stack = stack };

	if (!th || th->exited || (o->kind != PATH_OP_CALL && o->kind != PATH_OP_SYNC) ||
	    end_ns <= start_ns)
		return 0;
	ev.dur_ns = (uint64_t)(end_ns - start_ns);
	return on_call(p, th, &ev, o) && !p->nomem ? 0 : err_nomem(e);
}

int path_asleep(struct path *p, uint32_t thread, const struct event *ev, struct err *e)
{
	struct path_thread *th = thread_of(p, thread);

	if (th && !th->exited && (!th->log.begun || segment_log_end(&th->log) <= event_start(ev)))
		on_offcpu(p, th, ev, op_learn(p, ev->op)->def);
	return p->nomem ? err_nomem(e) : 0;
}

int path_finish(struct path *p, int64_t end_ns, struct err *e)
{
	if (end_ns > p->now_ns)
		p->now_ns = end_ns;
	for (size_t i = 0; i < p->threads.n; i++) {
		struct path_thread *th = p->threads.v[i];

		if (!th || th->exited || (!th->log.begun && !th->tail.n))
			continue;
		/* Nobody ended them, unless that was lost. */
		path_timed_ran(p, th, INT64_MAX);
		if (!path_thread_until(th, &p->losses, p->now_ns))
			p->nomem = true;
	}
	p->finished = true;
	for (size_t i = 0; i < p->tracks.n; i++)
		path_walk_track(p, &p->tracks.v[i]);
	/* What waited for one thread may wait for none now: nothing more will be known. */
	for (size_t i = 0; i < p->threads.n; i++) {
		if (p->threads.v[i])
			path_walk_pending(p, p->threads.v[i]);
	}
	return p->nomem ? err_nomem(e) : 0;
}
