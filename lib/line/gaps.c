/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that becomes idle begins an epoch. A thread gathers what it does from then on, forgetting what it gathered in
 * earlier epochs when it next does something: no thread is looked at unless it acts.
 */
#include "lib/line/gaps.h"

#include <stdlib.h>
#include <string.h>

#include "lib/line/gpu_use.h"

#define HOPS	     4	  /* threads followed that waited for each other */
#define GAPS_THREADS 1024 /* of one device */
#define NONE	     UINT32_MAX
/* Wake-ups are short and belong to no finding: they count as the gap's own time. */
#define HOST_PARTS (PARTS_HOST & ~(1u << PART_CPU_IDLE))

struct side { /* what is kept of a device besides its work */
	bool idle;
	int64_t idle_ns;
	uint32_t epoch;
	uint16_t since_op;
	uint32_t since_stack;
	uint64_t launches; /* since the wait before */
	uint64_t gap_launches;
	uint64_t tail_host_ns; /* of the wait, after the device was done */
	struct gap_run run;
	bool running; /* run holds */
	uint32_t issuer;
	int64_t issued_ns;	 /* end of the newest submission */
	uint64_t others_ns;	 /* of other processes' work on its GPU, when the gap began */
	VEC(uint32_t) threads;	 /* that submit to it */
	uint32_t laggard;	 /* of these, the one that was seen least lately */
	VEC(struct gap) pending; /* gaps, oldest first */
};

struct gap_thread {
	uint32_t device; /* position + 1, 0: never submitted */
	uint32_t gpu;
	uint32_t epoch;
	int64_t last_ns;  /* its newest piece ended */
	int64_t ready_ns; /* when its newest wait inside a call ended; then it waited for a CPU */
	uint64_t ready_host_ns;
	bool working; /* it submitted something since it last waited, first at work_ns */
	int64_t work_ns;
	uint64_t work_others_ns;	      /* others' work on the GPU until then */
	struct device_call inner, inner_sync; /* of calls inside one that says nothing itself */
	bool has_inner, has_sync;
	struct doings did;
};

struct gaps {
	const struct world *w;
	struct gap_sink *sink;
	struct devices devices;
	struct gpu_use use;		/* by device */
	VEC(struct side) side;		/* by device */
	VEC(struct gap_thread) threads; /* by world id */
	bool partial;
	struct gap_op {
		uint8_t known, act;
		int8_t stream, event; /* positions of these columns; -1 none */
	} op[1 << 16];
};

struct gaps *gaps_new(const struct world *w, struct gap_sink *sink)
{
	struct gaps *g = calloc(1, sizeof(*g));

	if (g) {
		g->w = w;
		g->sink = sink;
	}
	return g;
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
	vec_free(&g->use.v);
	vec_free(&g->threads);
	free(g);
}

const struct device *gaps_device(const struct gaps *g, uint32_t at)
{
	return &g->devices.v.v[at];
}

bool gaps_bounded(const struct gaps *g, uint32_t at)
{
	return g->devices.v.v[at].covers > 0;
}

void gaps_partial(struct gaps *g)
{
	g->partial = true;
}

bool gaps_shared(const struct gaps *g, uint32_t at)
{
	return g->use.v.v[at].shared;
}

static struct gap_thread *thread_at(struct gaps *g, uint32_t thread)
{
	while (g->threads.n <= thread) {
		if (!vec_push(&g->threads, (struct gap_thread){ 0 }))
			return NULL;
	}
	return &g->threads.v[thread];
}

static const struct gap_op *op_of(struct gaps *g, const struct op_def *op)
{
	struct gap_op *o = &g->op[op->id];

	if (!o->known) {
		o->known = 1;
		o->act = (uint8_t)device_act_of(op);
		o->stream = (int8_t)op_column(op, COL_STREAM);
		o->event = (int8_t)op_column(op, COL_EVENT);
	}
	return o;
}

/* ---- what threads do while their device is idle ---- */

/* Nobody ever waited, or not all was seen: it may be idle from the newest call on. */
static bool watching(const struct gaps *g, uint32_t device)
{
	return g->side.v[device].idle || g->partial || g->devices.v.v[device].covers == 0;
}

static bool gathers(struct gaps *g, struct gap_thread *th)
{
	const struct side *s;

	if (th->device == 0 || !watching(g, th->device - 1))
		return false;
	s = &g->side.v[th->device - 1];
	if (th->epoch != s->epoch) {
		th->epoch = s->epoch;
		th->did = (struct doings){ 0 };
	}
	return true;
}

bool gaps_sample(struct gaps *g, uint32_t thread, uint32_t stack)
{
	struct gap_thread *th = thread_at(g, thread);

	if (!th)
		return false;
	if (gathers(g, th))
		doings_sample(&th->did, stack);
	return true;
}

/* ---- the same device, used by others ---- */

/* How long it was busy for others since then, at most so long. */
static uint64_t others_since(const struct gaps *g, uint32_t device, uint64_t then_ns,
			     int64_t now_ns, uint64_t most_ns, uint32_t *who)
{
	uint64_t ns = gpu_use_others(&g->use, device, now_ns, who);

	ns = ns > then_ns ? ns - then_ns : 0;
	return ns < most_ns ? ns : most_ns;
}

/* ---- the end of a gap, and of a run ---- */

/* Who explains what thread did in this epoch: whoever it waited for, if that is one of those that submit. */
static const struct gap_thread *explains(const struct gaps *g, uint32_t thread, uint32_t epoch)
{
	const struct gap_thread *th = &g->threads.v[thread];

	for (unsigned hop = 0; hop < HOPS; hop++) {
		const struct doing *most = doings_most(&th->did);
		const struct gap_thread *next;

		if (!most || most->part != PART_IDLE || most->waker == 0 ||
		    most->waker >= g->threads.n)
			break;
		next = &g->threads.v[most->waker];
		if (next->device != th->device || next->epoch != epoch || next == th)
			break;
		th = next;
	}
	return th;
}

/* The first n of the pending gaps stand. */
static bool stand(struct gaps *g, struct side *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!g->sink->gap(g->sink, &s->pending.v[i]))
			return false;
	}
	s->pending.n -= n;
	memmove(s->pending.v, s->pending.v + n, s->pending.n * sizeof(*s->pending.v));
	return true;
}

/* Gaps that all threads of the device have gone past. */
static bool stand_past(struct gaps *g, struct side *s)
{
	int64_t past = INT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < s->threads.n; i++) {
		int64_t last = g->threads.v[s->threads.v[i]].last_ns;

		if (last < past) {
			past = last;
			s->laggard = s->threads.v[i];
		}
	}
	while (n < s->pending.n && s->pending.v[n].end_ns <= past)
		n++;
	return n == 0 || stand(g, s, n);
}

/* The device worked from start to end, as a thread now tells: gaps of which that is more than a little were none. */
static void takes_back(struct side *s, int64_t start_ns, int64_t end_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < s->pending.n; i++) {
		const struct gap *gap = &s->pending.v[i];
		int64_t from = start_ns > gap->start_ns ? start_ns : gap->start_ns,
			to = end_ns < gap->end_ns ? end_ns : gap->end_ns;

		if (to - from <= (gap->end_ns - gap->start_ns) / 10)
			s->pending.v[left++] = *gap;
	}
	s->pending.n = left;
}

static bool gap_ends(struct gaps *g, uint32_t device, const struct line_piece *p, int64_t end_ns,
		     bool unbounded)
{
	struct side *s = &g->side.v[device];
	const struct gap_thread *th = &g->threads.v[p->thread];
	struct gap gap = { .device = device,
			   .thread = p->thread,
			   .start_ns = s->idle_ns,
			   .end_ns = end_ns,
			   .unbounded = unbounded,
			   .since_op = s->since_op,
			   .since_stack = s->since_stack,
			   .until_op = p->ev->op,
			   .until_stack = p->ev->stack,
			   .launches = s->gap_launches,
			   .host_ns = s->tail_host_ns + parts_sum(p->parts, HOST_PARTS) };
	uint32_t other = NONE;

	if (end_ns <= s->idle_ns)
		return true;
	gap.others_ns = others_since(g, device, s->others_ns, end_ns,
				     (uint64_t)(end_ns - s->idle_ns), &other);
	if (th->device == device + 1 && th->epoch == s->epoch) {
		th = explains(g, p->thread, s->epoch);
		gap.did = th->did;
		gap.host_ns += th->did.host_ns;
		for (unsigned i = 0; i < gap.did.n; i++) {
			if (gap.did.v[i].part == PART_SELF)
				gap.did.v[i].stack = th->did.sample;
		}
	}
	if (s->threads.n <= 1)
		return g->sink->gap(g->sink, &gap);
	if (s->pending.n == GAP_PENDING && !stand(g, s, 1))
		return false;
	return vec_push(&s->pending, gap);
}

static void idle_since(struct gaps *g, uint32_t device, const struct line_piece *p, int64_t ns,
		       uint64_t host_ns)
{
	struct side *s = &g->side.v[device];
	uint32_t other = NONE;

	s->idle_ns = ns;
	s->epoch++;
	s->since_op = p->ev->op;
	s->since_stack = p->ev->stack;
	s->gap_launches = s->launches;
	s->tail_host_ns = host_ns;
	s->others_ns = gpu_use_others(&g->use, device, ns, &other);
}

static bool is_graph(const struct op_def *op)
{
	return op->id == OP_CUDA_GRAPH_LAUNCH || op->id == OP_CU_GRAPH_LAUNCH;
}

static void run_adds(struct side *s, const struct line_piece *p)
{
	uint64_t host = parts_sum(p->parts, PARTS_HOST);
	struct gap_run *r = &s->run;

	if (!s->running) {
		s->running = true;
		r->start_ns = p->start_ns;
		r->launches = r->issue_ns = r->device_ns = 0;
		r->op = p->ev->op;
		r->stack = p->ev->stack;
	} else if (s->issuer == p->thread && p->start_ns - s->issued_ns <= GAP_ISSUE_NS) {
		r->issue_ns += (uint64_t)(p->start_ns - s->issued_ns);
	}
	if (p->op->flags & OP_LAUNCH && !is_graph(p->op)) {
		if (r->launches++ == 0) {
			r->op = p->ev->op;
			r->stack = p->ev->stack;
		}
	}
	r->issue_ns += p->ev->dur_ns > host ? p->ev->dur_ns - host : 0;
	s->issuer = p->thread;
	s->issued_ns = p->end_ns;
}

static bool run_ends(struct gaps *g, uint32_t device, const struct line_piece *p)
{
	struct side *s = &g->side.v[device];
	struct gap_run run = s->run;

	if (!s->running)
		return true;
	run.device = device;
	run.thread = p->thread;
	run.wait_ns = p->start_ns;
	run.end_ns = p->end_ns;
	s->running = false;
	return g->sink->run(g->sink, &run);
}

static bool device_of(struct gaps *g, struct gap_thread *th, const struct line_piece *p)
{
	const struct world_ctx *ctx = world_get_ctx(g->w, p->ev->ctx);
	uint32_t gpu = ctx ? ctx->gpu : 0, at;
	struct side *s;

	if (th->device && th->gpu == gpu)
		return true;
	at = devices_find(&g->devices, p->process, gpu);
	if (at == NONE)
		return false;
	while (g->side.n <= at) {
		if (!vec_push(&g->side, (struct side){ 0 }))
			return false;
		if (!gpu_use_add(&g->use, gpu))
			return false;
	}
	th->gpu = gpu;
	th->device = at + 1;
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

static uint64_t column(const struct event *ev, int at)
{
	return at >= 0 && ev->present >> at & 1 ? ev->x[at] : 0;
}

/* The call as the device sees it, from its columns. */
static struct device_call call_of(const struct line_piece *p, const struct gap_op *op)
{
	return (struct device_call){ .act = (enum device_act)op->act,
				     .thread = p->thread,
				     .stream = column(p->ev, op->stream),
				     .event = column(p->ev, op->event),
				     .start_ns = p->start_ns,
				     .end_ns = p->end_ns };
}

static bool submits(struct gaps *g, uint32_t device, const struct line_piece *p,
		    const struct device_call *call)
{
	struct side *s = &g->side.v[device];
	const struct device *d = &g->devices.v.v[device];
	bool never = d->covers == 0 || g->partial, was_busy = d->busy > 0;

	if (!devices_call(&g->devices, device, call))
		return false;
	d = &g->devices.v.v[device];
	if (d->busy == 0 && call->act == DEVICE_SUBMIT)
		return true; /* recorded into a graph: nothing runs */
	if (s->idle && !g->partial) {
		if (!gap_ends(g, device, p, call->act == DEVICE_COPY ? p->start_ns : p->end_ns,
			      false))
			return false;
	} else if (never && (s->running || s->idle) &&
		   p->start_ns - s->idle_ns >= GAP_UNBOUNDED_NS &&
		   !gap_ends(g, device, p, p->end_ns, true)) {
		return false;
	}
	s->idle = false;
	if (!was_busy)
		gpu_use_busy(&g->use, device, true, p->start_ns);
	if (p->op->flags & OP_LAUNCH)
		s->launches += is_graph(p->op) ? GAP_GRAPH : 1;
	run_adds(s, p);
	if (never)
		idle_since(g, device, p, p->end_ns, 0);
	return true;
}

/* Nothing is outstanding after this wait. */
static bool becomes_idle(struct gaps *g, uint32_t device, const struct gap_thread *th,
			 const struct line_piece *p)
{
	struct side *s = &g->side.v[device];
	bool seen = th->ready_ns > p->start_ns && th->ready_ns <= p->end_ns;
	int64_t ns = seen ? th->ready_ns : p->end_ns;

	if (g->partial)
		s->running = false; /* of launches that are not all there */
	else if (!run_ends(g, device, p))
		return false;
	s->idle = true;
	gpu_use_busy(&g->use, device, false, ns);
	idle_since(g, device, p, ns, seen ? th->ready_host_ns : 0);
	s->launches = 0;
	return true;
}

/* Whoever waits has submitted something, seen or not: until then the device had nothing for at most this long. */
static bool partial_wait(struct gaps *g, uint32_t device, const struct line_piece *p)
{
	struct side *s = &g->side.v[device];

	if (s->epoch && p->start_ns - s->idle_ns >= GAP_UNBOUNDED_NS &&
	    !gap_ends(g, device, p, p->start_ns, true))
		return false;
	idle_since(g, device, p, p->end_ns, 0);
	return true;
}

/* A thread waited for what it had submitted. */
static bool waited(struct gaps *g, uint32_t device, struct gap_thread *th,
		   const struct line_piece *p)
{
	struct gap_wait wait = { .device = device,
				 .thread = p->thread,
				 .start_ns = th->work_ns,
				 .end_ns = p->end_ns,
				 .op = p->ev->op,
				 .stack = p->ev->stack,
				 .host_ns = parts_sum(p->parts, HOST_PARTS) };

	if (!th->working)
		return true;
	th->working = false;
	wait.others_ns = others_since(g, device, th->work_others_ns, p->end_ns,
				      (uint64_t)(p->end_ns - th->work_ns), &wait.other);
	return g->sink->wait(g->sink, &wait);
}

static bool outer_call(struct gaps *g, struct gap_thread *th, const struct line_piece *p,
		       const struct gap_op *op)
{
	enum device_act act = (enum device_act)op->act;
	struct device_call call = call_of(p, op), sync = { 0 };
	const struct device *d;
	uint32_t device;

	if (act == DEVICE_NOTHING) {
		if (!th->has_inner && !th->has_sync)
			return true;
		if (th->has_sync)
			sync = th->inner_sync;
		call = th->has_inner ? th->inner : sync;
		call.end_ns = p->end_ns;
	} else if (act != DEVICE_SUBMIT) {
		sync = call;
	}
	if (p->ev->ret != 0 || p->open)
		return true;
	if (!device_of(g, th, p))
		return false;
	device = th->device - 1;
	if (call.act == DEVICE_COPY || parts_get(p->parts, PART_DEVICE))
		takes_back(&g->side.v[device], p->start_ns, p->end_ns);
	if (call.act == DEVICE_SUBMIT && !th->working) {
		uint32_t most;

		th->working = true;
		th->work_ns = p->start_ns;
		th->work_others_ns = gpu_use_others(&g->use, device, p->start_ns, &most);
	}
	if (call.act == DEVICE_SUBMIT || call.act == DEVICE_COPY) {
		if (!submits(g, device, p, &call))
			return false;
	} else if (!devices_call(&g->devices, device, &call)) {
		return false;
	}
	if (call.act == DEVICE_SUBMIT && sync.act && !devices_call(&g->devices, device, &sync))
		return false;
	if (sync.act < DEVICE_COPY || sync.act > DEVICE_SYNC_EVENT)
		return true;
	if (g->partial && !partial_wait(g, device, p))
		return false;
	g->side.v[device].run.device_ns += parts_get(p->parts, PART_DEVICE);
	if (p->op->flags & OP_SYNC && !g->partial && !waited(g, device, th, p))
		return false;
	d = &g->devices.v.v[device];
	return d->busy || d->overflow || d->covers == 0 || g->side.v[device].idle ||
	       becomes_idle(g, device, th, p);
}

bool gaps_wait(struct gaps *g, const struct line_piece *p)
{
	struct gap_thread *th = p->depth ? thread_at(g, p->thread) : NULL;
	uint64_t host = parts_sum(p->parts, PARTS_HOST);

	if (p->depth == 0)
		return true;
	if (!th)
		return false;
	if (host < (uint64_t)(p->end_ns - p->start_ns)) {
		/* The host's part is the wait for a CPU behind it, unless it was the host that blocked it. */
		th->ready_ns = p->end_ns - (int64_t)host;
		th->ready_host_ns = parts_sum(p->parts, HOST_PARTS);
	}
	return true;
}

bool gaps_piece(struct gaps *g, const struct line_piece *p)
{
	struct gap_thread *th = thread_at(g, p->thread);
	const struct gap_op *op;

	if (!th)
		return false;
	if (!p->ev || !(p->op->flags & OP_CALL)) {
		if (gathers(g, th))
			doings_add(&th->did, p, g->side.v[th->device - 1].idle_ns);
	} else if (p->depth > 0) {
		op = op_of(g, p->op);
		if (op->act == DEVICE_SUBMIT || op->act == DEVICE_COPY) {
			th->inner = call_of(p, op);
			th->has_inner = p->ev->ret == 0;
		} else if (op->act != DEVICE_NOTHING && p->ev->ret == 0) {
			th->inner_sync = call_of(p, op);
			th->has_sync = true;
		}
		return true;
	} else {
		if (!outer_call(g, th, p, op_of(g, p->op)))
			return false;
		th->has_inner = th->has_sync = false;
	}
	th->last_ns = p->end_ns;
	if (th->device && g->side.v[th->device - 1].pending.n &&
	    g->side.v[th->device - 1].laggard == p->thread)
		return stand_past(g, &g->side.v[th->device - 1]);
	return true;
}

bool gaps_settle(struct gaps *g, int64_t ns)
{
	for (size_t i = 0; i < g->side.n; i++) {
		struct side *s = &g->side.v[i];
		size_t n = 0;

		while (n < s->pending.n &&
		       (ns == INT64_MAX || s->pending.v[n].end_ns < ns - GAP_STANDS_NS))
			n++;
		if (n && !stand(g, s, n))
			return false;
	}
	return true;
}
