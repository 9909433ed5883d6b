/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps out of stacks: what an event costs whose stack of twelve Python frames is that of the event
 * before, and what one costs whose stack differs, as those of a training loop's calls do. The goal:
 * 30 ns and 150 ns.
 */
#include "lib/loops/loops.h"
#include "tests/bench/bench.h"

#define RUNS   5
#define FRAMES 12
#define STACKS 512 /* different ones in a step */

struct program {
	struct world *w;
	uint32_t ctx;
	uint32_t stacks[STACKS];
};

static uint32_t frame_of(struct world *w, unsigned depth, uint32_t line)
{
	char name[32];
	struct world_frame f = { .kind = FRAME_PYTHON,
				 .offset = line,
				 .file = world_string(w, bytes_of("loop.py")) };

	snprintf(name, sizeof(name), "function%u", depth);
	f.name = world_string(w, bytes_of(name));
	return world_frame(w, &f);
}

/* Calls in the order of a step's lines: the innermost nine frames change from one to the next, the
 * innermost ones most often. */
static void program_init(struct program *p)
{
	struct world_node n = { .uuid = { 1 }, .boot = 1 };
	struct world_process pr = { .tgid = 10, .start_ns = 1 };
	struct world_thread t = { .tid = 10, .start_ns = 1 };
	struct world_ctx c = { 0 };

	p->w = world_new();
	if (!p->w)
		abort();
	c.node = pr.node = world_node(p->w, &n);
	t.process = world_process(p->w, &pr);
	c.thread = world_thread(p->w, &t);
	p->ctx = world_ctx(p->w, &c);
	for (unsigned i = 0; i < STACKS; i++) {
		uint32_t frames[FRAMES];

		for (unsigned d = 0; d < FRAMES; d++)
			frames[FRAMES - 1 - d] = frame_of(
				p->w, d, d < 3 ? 10 : 10 + (i >> (11 - d < 8 ? 11 - d : 8)));
		p->stacks[i] = world_stack(p->w, frames, FRAMES);
	}
}

/* ns an event; below 0: it failed. each: events with the same stack, one after the other. */
static double run_once(const struct program *p, uint64_t events, uint64_t each, uint64_t *steps)
{
	struct loops *l = loops_new(p->w, NULL);
	double from, took;

	if (!l)
		return -1;
	from = bench_cpu_s();
	for (uint64_t i = 0; i < events; i++) {
		struct event ev = { .end_ns = (int64_t)(i + 1) * 2000,
				    .dur_ns = 1000,
				    .op = OP_CUDA_LAUNCH,
				    .ctx = p->ctx,
				    .stack = p->stacks[i / each % STACKS] };

		if (loops_event(l, &ev, NULL))
			return -1;
	}
	took = bench_cpu_s() - from;
	if (loops_finish(l, NULL))
		return -1;
	*steps = loops_count(l) ? loops_get(l, 0)->count : 0;
	loops_free(l);
	return took * 1e9 / (double)events;
}

static bool say(const struct program *p, const char *name, uint64_t each)
{
	uint64_t events = bench_events(4000000), steps = 0;
	double best = 1e9;

	if (!bench_wanted(name))
		return true;
	for (int i = 0; i < RUNS; i++) {
		double ns = run_once(p, events, each, &steps);

		if (ns < 0)
			return false;
		best = ns < best ? ns : best;
	}
	bench_say(name, best, "ns");
	/* It did what it is measured for. */
	return each > 1 || steps >= events / STACKS - 1;
}

int main(void)
{
	struct program p;
	bool well;

	program_init(&p);
	well = say(&p, "loops.same_ns", 1000000) && say(&p, "loops.other_ns", 1);
	world_free(p.w);
	return !well;
}
