/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the gaps in which a device has no work. A device that becomes idle begins an epoch. A
 * thread gathers what it does from then on, and drops what it gathered in earlier epochs when it
 * next does something: a thread costs nothing unless it acts.
 */
#include <stdlib.h>

#include "lib/base/compiler.h"
#include "lib/gpustate/gaps_internal.h"

#define GAPS_THREADS 1024 /* of one device */

struct gaps *gaps_new(const struct world *w, const struct paused *paused, struct gap_sink *sink)
{
	struct gaps *g = calloc(1, sizeof(*g));

	if (g) {
		g->w = w;
		g->paused = paused;
		g->sink = sink;
	}
	return g;
}

static void thread_free(struct gaps *g, uint32_t thread)
{
	struct gap_thread *th = gaps_thread(g, thread);

	if (!th)
		return;
	for (size_t i = 0; i < th->hands.n; i++)
		gpu_mark_free(&th->hands.v[i].work_mark);
	vec_free(&th->hands);
	free(th);
	g->threads.v[thread] = NULL;
}

void gaps_free(struct gaps *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->side.n; i++) {
		vec_free(&g->side.v[i].threads);
		vec_free(&g->side.v[i].pending);
	}
	devices_free(&g->devices);
	vec_free(&g->side);
	gpu_use_free(&g->use);
	for (uint32_t i = 0; i < g->threads.n; i++)
		thread_free(g, i);
	vec_free(&g->threads);
	free(g);
}

bool gaps_forget(struct gaps *g, uint32_t process, const uint32_t *threads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		thread_free(g, threads[i]);
	for (uint32_t gpu = 0; gpu <= world_count(g->w, WORLD_GPU); gpu++) {
		uint32_t at = gaps_device_of(g, process, gpu);
		struct gap_side *s;

		if (at >= g->side.n)
			continue;
		s = &g->side.v[at];
		vec_free(&s->threads);
		vec_free(&s->pending);
		s->idle = s->running = false;
		if (!devices_forget(&g->devices, at) || !gpu_use_forget(&g->use, at))
			return false;
	}
	return true;
}

COLD_CALL static struct gap_thread *thread_new(struct gaps *g, uint32_t thread)
{
	if (!vec_reach(&g->threads, thread))
		return NULL;
	g->threads.v[thread] = calloc(1, sizeof(struct gap_thread));
	if (g->threads.v[thread])
		g->threads.v[thread]->waited_ns = INT64_MIN;
	return g->threads.v[thread];
}

static inline struct gap_thread *thread_at(struct gaps *g, uint32_t thread)
{
	struct gap_thread *th = gaps_thread(g, thread);

	return th ? th : thread_new(g, thread);
}

static void op_learn(struct gap_op *o, const struct op_def *op)
{
	o->known = 1;
	o->act = (uint8_t)device_act_of(op);
	o->stream = (int8_t)op_column(op, COL_STREAM);
	o->event = (int8_t)op_column(op, COL_EVENT);
}

static inline const struct gap_op *op_of(struct gaps *g, const struct op_def *op)
{
	struct gap_op *o = &g->op[op->id];

	if (!o->known)
		op_learn(o, op);
	return o;
}

/* ---- what threads do while their device is idle ---- */

/* True also when no thread ever waited, or not all was seen: it may be idle from the newest call
 * on. */
ALWAYS_INLINE bool may_be_idle(const struct gaps *g, uint32_t device)
{
	return g->side.v[device].idle || g->partial || g->devices.v.v[device].covers == 0;
}

ALWAYS_INLINE bool is_gathering(const struct gaps *g, const struct gap_thread *th)
{
	return th->hands.n && may_be_idle(g, th->hands.v[th->at].device);
}

static void idle_since(struct gaps *g, uint32_t device, const struct line_piece *p, int64_t ns,
		       uint64_t host_ns)
{
	struct gap_side *s = &g->side.v[device];

	s->idle_ns = ns;
	s->epoch++;
	s->since_op = p->ev->op;
	s->since_stack = p->ev->stack;
	s->since_thread = p->thread;
	s->gap_launches = s->launches;
	s->some_launches = false;
	s->tail_host_ns = host_ns;
	s->others_ns = gpu_use_others(&g->use, device, ns);
}

/* It drives that device from here on. */
static bool set_current_device(struct gap_thread *th, uint32_t device)
{
	size_t i = 0;

	while (i < th->hands.n && th->hands.v[i].device != device)
		i++;
	if (i == th->hands.n && !vec_push(&th->hands, (struct gap_hand){ .device = device }))
		return false;
	th->at = i;
	return true;
}

NOINLINE static bool device_look_up(struct gaps *g, struct gap_thread *th,
				    const struct line_piece *p)
{
	const struct world_ctx *ctx = world_get_ctx(g->w, p->ev->ctx);
	uint32_t gpu = ctx ? ctx->gpu : 0, at;
	struct gap_side *s;

	th->ctx = p->ev->ctx;
	if (th->hands.n && th->gpu == gpu)
		return true;
	at = devices_find(&g->devices, p->process, gpu);
	if (at == GAPS_NONE)
		return false;
	while (g->side.n <= at) {
		if (!vec_push(&g->side,
			      (struct gap_side){ .node = world_process_node(g->w, p->process),
						 .seen_ns = p->start_ns }))
			return false;
		if (!gpu_use_add(&g->use, gpu))
			return false;
	}
	if (!set_current_device(th, at))
		return false;
	th->gpu = gpu;
	s = &g->side.v[at];
	for (size_t i = 0; i < s->threads.n; i++) {
		if (s->threads.v[i] == p->thread)
			return true;
	}
	/* Gaps do not wait for what so many more do. */
	if (s->threads.n >= GAPS_THREADS)
		return true;
	s->laggard = p->thread;
	return vec_push(&s->threads, p->thread);
}

/* NULL: out of memory. */
ALWAYS_INLINE struct gap_hand *hand_of(struct gaps *g, struct gap_thread *th,
				       const struct line_piece *p)
{
	struct gap_hand *h;

	if (!(th->hands.n && th->ctx == p->ev->ctx) && !device_look_up(g, th, p))
		return NULL;
	h = gaps_hand(th);
	if (g->paused->lists.n &&
	    gaps_paused(g, h->device, g->side.v[h->device].seen_ns, p->end_ns))
		gaps_resume(g, h->device, p);
	return h;
}

static inline uint64_t get_column(const struct event *ev, int at)
{
	return at >= 0 && ev->present >> at & 1 ? ev->x[at] : 0;
}

/* The call as the device sees it, from its columns. */
ALWAYS_INLINE struct device_call call_of(const struct line_piece *p, const struct gap_op *op)
{
	return (struct device_call){ .act = (enum device_act)op->act,
				     .thread = p->thread,
				     .stream = get_column(p->ev, op->stream),
				     .event = get_column(p->ev, op->event),
				     .start_ns = p->start_ns,
				     .end_ns = p->end_ns };
}

/* stream: of the call. all: more about it; NULL: the span itself is a submission. */
NOINLINE static bool add_device_call(struct gaps *g, uint32_t device, const struct line_piece *p,
				     uint64_t stream, const struct device_call *all)
{
	struct device_call call = { .act = DEVICE_SUBMIT,
				    .thread = p->thread,
				    .stream = stream,
				    .start_ns = p->start_ns,
				    .end_ns = p->end_ns };

	return devices_call(&g->devices, device, all ? all : &call);
}

ALWAYS_INLINE bool submit_work(struct gaps *g, uint32_t device, const struct line_piece *p,
			       uint64_t stream, const struct device_call *all)
{
	enum device_act act = all ? all->act : DEVICE_SUBMIT;
	struct gap_side *s = &g->side.v[device];
	struct device *d = &g->devices.v.v[device];
	bool never = d->covers == 0 || g->partial, was_busy = d->busy > 0;
	int64_t works_ns = act == DEVICE_COPY ? p->start_ns : p->end_ns;

	if (!(act == DEVICE_SUBMIT && devices_submit(d, stream, p->end_ns)) &&
	    !add_device_call(g, device, p, stream, all))
		return false;
	if (d->busy == 0 && act == DEVICE_SUBMIT)
		return true; /* recorded into a graph: nothing runs */
	if (s->idle && !g->partial) {
		if (!gaps_end(g, device, p, works_ns, false))
			return false;
	} else if (never && (s->running || s->idle) &&
		   p->start_ns - s->idle_ns >= GAP_UNBOUNDED_NS &&
		   !gaps_end(g, device, p, works_ns, true)) {
		return false;
	}
	s->idle = false;
	if (!was_busy)
		gpu_use_busy(&g->use, device, true, p->start_ns);
	if (p->op->flags & OP_LAUNCH)
		s->launches += gaps_is_graph(p->op) ? GAP_GRAPH : 1;
	gaps_run_add(s, p);
	if (never)
		idle_since(g, device, p, p->end_ns, 0);
	return true;
}

/* Nothing is outstanding after this wait. */
NOINLINE static bool becomes_idle(struct gaps *g, uint32_t device, const struct gap_thread *th,
				  const struct line_piece *p)
{
	struct gap_side *s = &g->side.v[device];
	bool seen = th->ready_ns > p->start_ns && th->ready_ns <= p->end_ns;
	int64_t ns = seen ? th->ready_ns : p->end_ns;
	bool some = gaps_paused(g, device, s->idle_ns, p->end_ns);

	if (g->partial || some)
		s->running = false; /* of launches that are not all there */
	else if (!gaps_run_end(g, device, p))
		return false;
	s->idle = true;
	gpu_use_busy(&g->use, device, false, ns);
	idle_since(g, device, p, ns, seen ? th->ready_host_ns : 0);
	s->some_launches = some;
	s->launches = 0;
	return true;
}

/* A thread that waits has submitted something, seen or not: until then the device had nothing for
 * at most this long. */
COLD_CALL static bool partial_wait(struct gaps *g, uint32_t device, const struct line_piece *p)
{
	struct gap_side *s = &g->side.v[device];

	if (s->epoch && p->start_ns - s->idle_ns >= GAP_UNBOUNDED_NS &&
	    !gaps_end(g, device, p, p->start_ns, true))
		return false;
	idle_since(g, device, p, p->end_ns, 0);
	return true;
}

/* A thread waited for what it had submitted. */
static bool end_wait(struct gaps *g, struct gap_hand *h, struct gap_thread *th,
		     const struct line_piece *p)
{
	struct gap_wait wait = { .device = h->device,
				 .thread = p->thread,
				 .start_ns = h->work_ns,
				 .end_ns = p->end_ns,
				 .op = p->ev->op,
				 .stack = p->ev->stack,
				 .host_ns = parts_sum(p->parts, GAPS_HOST_PARTS) };
	bool some = gaps_paused(g, h->device, th->waited_ns, p->end_ns);

	th->waited_ns = p->end_ns;
	if (!h->working)
		return true;
	h->working = false;
	/* It may have begun to submit before what was seen of it. */
	if (some)
		return true;
	wait.others_ns = gaps_others_since(g, h->device, h->work_mark.others_ns, p->end_ns,
					   (uint64_t)(p->end_ns - h->work_ns));
	wait.other = wait.others_ns ? gpu_use_most(&g->use, h->device, p->end_ns, &h->work_mark)
				    : GAPS_NONE;
	return g->sink->wait(g->sink, &wait);
}

/* Work was submitted, and that was all. */
ALWAYS_INLINE bool handle_submission(struct gaps *g, struct gap_thread *th,
				     const struct line_piece *p, uint64_t stream,
				     const struct device_call *all)
{
	enum device_act act = all ? all->act : DEVICE_SUBMIT;
	struct gap_hand *h = hand_of(g, th, p);

	if (!h)
		return false;
	if (act == DEVICE_COPY || parts_get(p->parts, PART_DEVICE))
		gaps_take_back(&g->side.v[h->device], p->start_ns, p->end_ns);
	if (act == DEVICE_SUBMIT && !h->working) {
		h->working = true;
		h->work_ns = p->start_ns;
		if (!gpu_use_mark(&g->use, h->device, p->start_ns, &h->work_mark))
			return false;
	}
	return submit_work(g, h->device, p, stream, all);
}

NOINLINE static bool other_call(struct gaps *g, struct gap_thread *th, const struct line_piece *p,
				const struct gap_op *op)
{
	enum device_act act = (enum device_act)op->act;
	struct device_call call = call_of(p, op), sync = { 0 };
	const struct device *d;
	struct gap_hand *h;
	uint32_t device;

	if (act == DEVICE_NOTHING) {
		if (!th->has_inner && !th->has_sync)
			return true;
		if (th->has_sync)
			sync = th->inner_sync;
		call = th->has_inner ? th->inner : sync;
		call.end_ns = p->end_ns;
	} else {
		sync = call;
	}
	if (p->ev->ret != 0 || p->open)
		return true;
	if (call.act == DEVICE_SUBMIT || call.act == DEVICE_COPY) {
		if (!handle_submission(g, th, p, call.stream, &call))
			return false;
		h = gaps_hand(th);
		device = h->device;
	} else {
		h = hand_of(g, th, p);
		if (!h)
			return false;
		device = h->device;
		if (parts_get(p->parts, PART_DEVICE))
			gaps_take_back(&g->side.v[device], p->start_ns, p->end_ns);
		if (!devices_call(&g->devices, device, &call))
			return false;
	}
	if (call.act == DEVICE_SUBMIT && sync.act && !devices_call(&g->devices, device, &sync))
		return false;
	if (sync.act < DEVICE_COPY || sync.act > DEVICE_SYNC_EVENT)
		return true;
	if (g->partial && !partial_wait(g, device, p))
		return false;
	g->side.v[device].run.device_ns += parts_get(p->parts, PART_DEVICE);
	if (p->op->flags & OP_SYNC && !g->partial && !end_wait(g, h, th, p))
		return false;
	d = &g->devices.v.v[device];
	return d->busy || d->overflow || d->covers == 0 || g->side.v[device].idle ||
	       becomes_idle(g, device, th, p);
}

ALWAYS_INLINE bool outer_call(struct gaps *g, struct gap_thread *th, const struct line_piece *p,
			      const struct gap_op *op)
{
	if (op->act != DEVICE_SUBMIT)
		return other_call(g, th, p, op);
	if (p->ev->ret != 0 || p->open)
		return true;
	return handle_submission(g, th, p, get_column(p->ev, op->stream), NULL);
}

bool gaps_wait(struct gaps *g, const struct line_piece *p)
{
	struct gap_thread *th = p->depth ? thread_at(g, p->thread) : NULL;
	uint64_t host = parts_sum(p->parts, PARTS_NOT_OWN);

	if (p->depth == 0)
		return true;
	if (!th)
		return false;
	if (host < (uint64_t)(p->end_ns - p->start_ns)) {
		/* The host's part is the wait for a CPU behind it, unless it was the host that
		 * blocked it. */
		th->ready_ns = p->end_ns - (int64_t)host;
		th->ready_host_ns = parts_sum(p->parts, GAPS_HOST_PARTS);
	}
	return true;
}

/* What was done ended: gaps may stand now. */
ALWAYS_INLINE bool went_past(struct gaps *g, struct gap_thread *th, const struct line_piece *p)
{
	const struct gap_hand *h = gaps_hand(th);
	struct gap_side *s = h ? &g->side.v[h->device] : NULL;

	th->last_ns = p->end_ns;
	return !s || !s->pending.n || s->laggard != p->thread || gaps_stand_past(g, s);
}

NOINLINE static bool is_unended(const struct line_piece *p)
{
	return line_unended(p);
}

/* The part of a stretch outside calls that lies behind from_ns. */
static void did_add(struct gap_did *d, const struct line_piece *p, int64_t from_ns)
{
	uint64_t rest, host, self;

	if (p->start_ns > from_ns)
		from_ns = p->start_ns;
	if (p->end_ns <= from_ns)
		return;
	/* A wait ends in waiting for a CPU, so what is cut off at its front is not that. */
	rest = (uint64_t)(p->end_ns - from_ns);
	host = parts_sum(p->parts, PARTS_NOT_OWN);
	host = host > rest ? rest : host;
	self = parts_get(p->parts, PART_SELF);
	self = self > rest - host ? rest - host : self;
	d->self_ns += self;
	d->kept_ns += rest - self;
	if (rest - host - self > d->longest_ns)
		d->longest_ns = rest - host - self;
}

/* Only while the device that it drives is idle: what is done while that one works keeps no other
 * from its work. */
NOINLINE static void gather_time(const struct gaps *g, struct gap_thread *th,
				 const struct line_piece *p)
{
	for (size_t i = 0; i < th->hands.n; i++) {
		struct gap_hand *h = &th->hands.v[i];
		const struct gap_side *s = &g->side.v[h->device];

		if (!may_be_idle(g, h->device))
			continue;
		if (h->epoch != s->epoch)
			h->did = (struct gap_did){ 0 };
		h->epoch = s->epoch;
		did_add(&h->did, p, s->idle_ns);
	}
}

bool gaps_outside(struct gaps *g, const struct line_piece *p)
{
	struct gap_thread *th = thread_at(g, p->thread);

	if (!th)
		return false;
	th->blocked = p->ev && is_unended(p);
	if (is_gathering(g, th))
		gather_time(g, th, p);
	return went_past(g, th, p);
}

bool gaps_inner(struct gaps *g, const struct line_piece *p)
{
	const struct gap_op *op = op_of(g, p->op);
	struct gap_thread *th = thread_at(g, p->thread);

	if (!th)
		return false;
	th->blocked = false;
	if (op->act == DEVICE_SUBMIT || op->act == DEVICE_COPY) {
		th->inner = call_of(p, op);
		th->has_inner = p->ev->ret == 0;
	} else if (op->act != DEVICE_NOTHING && p->ev->ret == 0) {
		th->inner_sync = call_of(p, op);
		th->has_sync = true;
	}
	return true;
}

/* It was on its CPU before the call. */
NOINLINE static bool gather_before(struct gaps *g, struct gap_thread *th,
				   const struct line_piece *call)
{
	struct parts parts;
	struct line_piece p = line_before(call, &parts);

	if (is_gathering(g, th))
		gather_time(g, th, &p);
	return went_past(g, th, &p);
}

/* Whether the time before the call matters: the device may be idle, or gaps are pending. */
ALWAYS_INLINE bool before_matters(const struct gaps *g, const struct gap_thread *th)
{
	const struct gap_hand *h = gaps_hand(th);

	return h && (may_be_idle(g, h->device) || g->side.v[h->device].pending.n);
}

NOINLINE static bool handle_any_call(struct gaps *g, struct gap_thread *th,
				     const struct line_piece *p)
{
	th->blocked = false;
	if (p->before_ns && before_matters(g, th) && !gather_before(g, th, p))
		return false;
	if (!outer_call(g, th, p, op_of(g, p->op)))
		return false;
	th->has_inner = th->has_sync = false;
	return went_past(g, th, p);
}

/* One submission more from a thread that submits, to a device that runs, on a stream that is known,
 * where no gap is open: most calls are. False: it is not, and nothing was done. */
ALWAYS_INLINE bool add_fast_submission(struct gaps *g, struct gap_thread *th,
				       const struct line_piece *p)
{
	const struct gap_op *op = &g->op[p->op->id];
	const struct gap_hand *h = gaps_hand(th);
	struct device_stream *stream;
	struct gap_side *s;
	struct device *d;

	if (op->act != DEVICE_SUBMIT || p->ev->ret != 0 || p->open || !h || !h->working ||
	    th->ctx != p->ev->ctx || g->partial || g->paused->lists.n ||
	    p->parts->mask >> PART_DEVICE & 1)
		return false;
	s = &g->side.v[h->device];
	d = &g->devices.v.v[h->device];
	if (s->idle || !s->running || s->pending.n || d->covers == 0 || d->busy == 0)
		return false;
	stream = devices_newest(d, get_column(p->ev, op->stream));
	if (!stream)
		return false;
	device_submit(d, stream, p->end_ns);
	if (p->op->flags & OP_LAUNCH)
		s->launches += gaps_is_graph(p->op) ? GAP_GRAPH : 1;
	gaps_run_add(s, p);
	th->blocked = th->has_inner = th->has_sync = false;
	th->last_ns = p->end_ns;
	return true;
}

bool gaps_call(struct gaps *g, const struct line_piece *p)
{
	struct gap_thread *th = thread_at(g, p->thread);

	if (!th)
		return false;
	return add_fast_submission(g, th, p) || handle_any_call(g, th, p);
}
