/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates a launch-heavy stream for measuring. Each thread has a program of call sites and runs
 * parts of it from random places, so that the order of calls has the regularity of real loops
 * without being periodic. The mix of events is that of launch-dominated jobs: about 61 %
 * cuLaunchKernel, 28 % cudaLaunchKernel, 5.4 % copies, 2.4 % stream syncs, 1.6 % off-CPU intervals,
 * 0.7 % allocations and frees, 0.2 % device syncs.
 */
#include "lib/sim/corpus.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/sim/random.h"
#include "lib/world/event_order.h"

#define BATCH	 4096
#define PROGRAM	 720   /* call sites of a thread: 16 threads give the 11,500 of the measured jobs */
#define STACKS	 450   /* distinct stacks of a thread */
#define KERNELS	 60    /* kernel functions of a rank */
#define DEPTH	 12    /* frames of a stack */
#define EVENT_NS 98000 /* mean time between a thread's events: 16 threads make 162,000 a second */

/* Out of 10,000 calls of a program; a runtime launch makes two events, a sync often an off-CPU
 * interval. */
static const struct {
	uint16_t op;
	unsigned weight;
	uint64_t usual_ns; /* of its duration */
} mix[] = {
	{ OP_CUDA_LAUNCH, 3890, 5200 },	     { OP_CU_LAUNCH, 4670, 3100 },
	{ OP_CUDA_MEMCPY_ASYNC, 750, 8400 }, { OP_CUDA_STREAM_SYNC, 333, 45000 },
	{ OP_CUDA_MALLOC, 35, 90000 },	     { OP_CUDA_FREE, 33, 60000 },
	{ OP_CUDA_DEVICE_SYNC, 24, 180000 },
};

struct site {
	unsigned kind; /* index in mix */
	uint32_t stack;
	uint64_t func, stream;
	uint64_t bytes;
};

struct worker {
	struct site program[PROGRAM];
	uint32_t ctx, waker;
	unsigned at, left; /* place in the program, sites left of this stretch */
	int64_t now;
	struct event ready[3]; /* what the next call gives, in end order */
	unsigned nready, given;
};

struct corpus {
	struct event_stream stream;
	struct world *world;
	struct sim_corpus_options opt;
	struct sim_random random;
	uint64_t made;
	bool told;
	unsigned nworkers;
	struct worker *workers;
	struct event batch[BATCH];
};

/* A random duration around base with a deviation of 0.29, the sum of four uniform numbers; one of
 * 256 is much longer. */
static uint64_t jitter_around(struct sim_random *r, uint64_t base)
{
	uint64_t sum = 0;

	for (int i = 0; i < 4; i++)
		sum += sim_below(r, base + 1);
	sum /= 2;
	if (sim_below(r, 256) == 0)
		sum += base * (1 + sim_below(r, 8));
	return sum + 1;
}

static uint32_t make_stack(struct corpus *c, uint32_t module, uint32_t *names)
{
	uint32_t frames[DEPTH];

	for (unsigned i = 0; i < DEPTH; i++) {
		/* Outer frames are shared by many stacks, inner ones by few. */
		uint64_t place = sim_below(&c->random, i < 3 ? 4000 : 60 * (DEPTH - i));
		struct world_frame f = { .kind = FRAME_NATIVE,
					 .module = module,
					 .offset = place * 48 + i * 1000000 };
		struct world_symbol symbol = { .name = names[place % 64], .delta = place % 480 };

		frames[i] = world_frame(c->world, &f);
		world_symbol(c->world, frames[i], &symbol);
	}
	return world_stack(c->world, frames, DEPTH);
}

static unsigned pick_kind(struct sim_random *r)
{
	uint64_t total = 0, at;
	unsigned i;

	for (i = 0; i < sizeof(mix) / sizeof(mix[0]); i++)
		total += mix[i].weight;
	at = sim_below(r, total);
	for (i = 0; at >= mix[i].weight; i++)
		at -= mix[i].weight;
	return i;
}

static void make_program(struct corpus *c, struct worker *w, unsigned rank, uint32_t module,
			 uint32_t *names)
{
	uint32_t stacks[STACKS];

	for (unsigned i = 0; i < STACKS; i++)
		stacks[i] = make_stack(c, module, names);
	for (unsigned i = 0; i < PROGRAM; i++) {
		struct site *s = &w->program[i];

		s->kind = pick_kind(&c->random);
		s->stack = stacks[sim_below(&c->random, STACKS)];
		/* Pointers differ from rank to rank, as address space layout does. */
		s->func = 0x555500000000 + ((uint64_t)rank << 24) +
			  sim_below(&c->random, KERNELS) * 0x40;
		s->stream = sim_below(&c->random, 4) ? 0x7f0000000000 + ((uint64_t)rank << 24) : 0;
		s->bytes = (uint64_t)512 << sim_below(&c->random, 16);
	}
}

static void make_workers(struct corpus *c)
{
	struct world *w = c->world;
	char text[96];
	struct world_node node = { .uuid = { 'c', 'o', 'r', (uint8_t)c->opt.node }, .boot = 1 };
	uint32_t names[64];

	snprintf(text, sizeof(text), "node-%u", c->opt.node);
	node.name = world_string(w, bytes_of(text));
	for (unsigned i = 0; i < 64; i++) {
		snprintf(text, sizeof(text), "at::native::vectorized_elementwise_%u", i);
		names[i] = world_string(w, bytes_of(text));
	}
	for (unsigned i = 0; i < c->nworkers; i++) {
		unsigned rank = i / c->opt.threads;
		struct worker *worker = &c->workers[i];
		struct world_process p = { .node = world_node(w, &node),
					   .tgid = 1000 + rank * 100,
					   .start_ns = 5 };
		struct world_image image = { .comm = world_string(w, bytes_of("python3")) };
		struct world_thread thread = { .tid = p.tgid + i % c->opt.threads,
					       .start_ns = 5 + i };
		struct world_ctx ctx = { .node = p.node };
		struct world_module module = { .build_id = world_string(w, bytes_of("c0ffee")) };

		thread.process = image.process = world_process(w, &p);
		thread.comm = image.comm;
		ctx.image = world_image(w, &image);
		ctx.thread = worker->waker = world_thread(w, &thread);
		worker->ctx = world_ctx(w, &ctx);
		snprintf(text, sizeof(text),
			 "/usr/lib/python3/site-packages/torch/lib/libtorch_cuda_%u.so", rank);
		module.path = world_string(w, bytes_of(text));
		make_program(c, worker, rank, world_module(w, &module), names);
		worker->now = 1000000000 + (int64_t)sim_below(&c->random, EVENT_NS);
	}
}

static void add_event(struct worker *w, uint16_t op, int64_t start, uint64_t dur, unsigned depth,
		      uint32_t stack)
{
	w->ready[w->nready++] = (struct event){ .op = op,
						.end_ns = start + (int64_t)dur,
						.dur_ns = dur,
						.depth = (uint16_t)depth,
						.ctx = w->ctx,
						.stack = stack };
}

static void set_columns(struct worker *w, const struct site *s, uint64_t pointer)
{
	for (unsigned i = 0; i < w->nready; i++) {
		struct event *ev = &w->ready[i];
		const struct op_def *def = op_builtin(ev->op);

		event_set(ev, def, COL_FUNC, s->func);
		event_set(ev, def, COL_STREAM, s->stream);
		event_set(ev, def, COL_BYTES, s->bytes);
		event_set(ev, def, COL_DIRECTION, 1);
		event_set(ev, def, COL_PTR, pointer);
		if (ev->op == OP_SCHED_OFFCPU) {
			event_set(ev, def, COL_WAIT_NS, 2000 + pointer % 3000);
			event_set(ev, def, COL_THROTTLED_NS, 0);
			event_set(ev, def, COL_SYSCALL, 7);
			event_set(ev, def, COL_OBJECT_KIND, OBJECT_POLL);
			event_set(ev, def, COL_WAKER_KIND, WAKER_HARDIRQ);
			event_set(ev, def, COL_CPU_OUT, pointer >> 4 & 15);
			event_set(ev, def, COL_CPU_IN, pointer >> 4 & 15);
		}
	}
}

/* Generates the worker's next call and the calls inside it. */
static void generate_call(struct corpus *c, struct worker *w)
{
	const struct site *s;
	uint64_t dur;

	if (!w->left) {
		w->at = (unsigned)sim_below(&c->random, PROGRAM);
		w->left = 16 + (unsigned)sim_below(&c->random, 112);
	}
	s = &w->program[w->at];
	w->at = (w->at + 1) % PROGRAM;
	w->left--;
	w->nready = w->given = 0;
	/* Two of five calls are a pair of events: gaps are longer than the mean between events. */
	w->now += (int64_t)jitter_around(&c->random, EVENT_NS * 13 / 10);
	dur = jitter_around(&c->random, mix[s->kind].usual_ns);
	if (mix[s->kind].op == OP_CUDA_LAUNCH)
		add_event(w, OP_CU_LAUNCH, w->now + (int64_t)(dur / 4), dur / 2, 1, s->stack);
	if (mix[s->kind].op == OP_CUDA_MALLOC)
		add_event(w, OP_CU_MEM_ALLOC, w->now + (int64_t)(dur / 16), dur * 3 / 4, 1,
			  s->stack);
	if (mix[s->kind].op == OP_CUDA_STREAM_SYNC && sim_below(&c->random, 3))
		add_event(w, OP_SCHED_OFFCPU, w->now + (int64_t)(dur / 8), dur * 3 / 4, 1, 0);
	add_event(w, mix[s->kind].op, w->now, dur, 0, s->stack);
	set_columns(w, s, 0x7f8000000000 + (sim_next(&c->random) & 0xffffff) * 512);
	w->now += (int64_t)dur;
}

static int corpus_next(struct event_stream *stream, struct stream_item *item, struct err *e)
{
	struct corpus *c = (struct corpus *)stream;
	size_t n = 0;

	(void)e;
	while (n < BATCH) {
		struct worker *best = NULL;

		for (unsigned i = 0; i < c->nworkers; i++) {
			struct worker *w = &c->workers[i];

			if (w->given == w->nready) {
				if (c->made >= c->opt.events)
					continue;
				generate_call(c, w);
				c->made += w->nready;
			}
			if (!best || world_event_order(c->world, &w->ready[w->given],
						       &best->ready[best->given]) < 0)
				best = w;
		}
		if (!best)
			break;
		c->batch[n++] = best->ready[best->given++];
	}
	*item = (struct stream_item){ .kind = STREAM_EVENTS,
				      .events = c->batch,
				      .n = n,
				      .watermark_ns = INT64_MIN,
				      .floor_ns = INT64_MIN };
	if (n)
		return 1;
	item->kind = STREAM_LAST;
	n = !c->told;
	c->told = true;
	return (int)n;
}

static void corpus_close(struct event_stream *stream)
{
	struct corpus *c = (struct corpus *)stream;

	free(c->workers);
	free(c);
}

int sim_corpus_open(struct event_stream **out, struct world *w, const struct sim_corpus_options *o,
		    struct err *e)
{
	struct corpus *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (!c)
		return err_nomem(e);
	c->opt = *o;
	if (!c->opt.ranks)
		c->opt.ranks = 8;
	if (!c->opt.threads)
		c->opt.threads = 2;
	c->stream = (struct event_stream){ corpus_next, corpus_close };
	c->world = w;
	c->random.state = o->seed;
	c->nworkers = c->opt.ranks * c->opt.threads;
	c->workers = calloc(c->nworkers, sizeof(*c->workers));
	if (!c->workers) {
		free(c);
		return err_nomem(e);
	}
	make_workers(c);
	*out = &c->stream;
	return 0;
}
