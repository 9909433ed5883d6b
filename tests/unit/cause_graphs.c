/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings about CUDA graphs, and graphs as they should be.
 */
#include "tests/unit/kinds.h"

#define STEPS 400
#define EVERY (10 * MS)

static struct stage s;
static struct actor v;
static unsigned line; /* of the stacks that the calls carry */

static void call(uint16_t op, int64_t start, int64_t ns, uint64_t handle, int32_t ret)
{
	struct event *ev = stage_call(&s, v, op, 0, start, start + ns);

	ev->stack = line;
	ev->ret = ret;
	stage_set(ev, COL_STREAM, 7);
	if (ret)
		return;
	stage_set(ev, COL_GRAPH, 0x9000 + handle);
	stage_set(ev, COL_EXEC, handle);
}

/* From t on, 3 ms in all; through both layers where graphs are instantiated. */
static void capture(int64_t t, uint64_t handle, int32_t broken)
{
	call(OP_CUDA_STREAM_BEGIN_CAPTURE, t, 10 * US, 0, 0);
	for (unsigned i = 0; i < 10; i++)
		call(OP_CUDA_LAUNCH, t + 20 * US + i * 10 * US, 5 * US, 0, 0);
	if (broken)
		call(OP_CUDA_MALLOC, t + 500 * US, 5 * US, 0, broken);
	call(OP_CUDA_STREAM_END_CAPTURE, t + 990 * US, 10 * US, handle, broken ? 901 : 0);
	if (broken)
		return;
	call(OP_CU_GRAPH_INSTANTIATE_WITH_FLAGS, t + 1010 * US, 1900 * US, handle, 0);
	s.ev.v[s.ev.n - 1].depth = 1;
	call(OP_CUDA_GRAPH_INSTANTIATE, t + MS, 2 * MS, handle, 0);
	call(OP_CUDA_GRAPH_DESTROY, t + 3 * MS, 5 * US, handle, 0);
}

static void launch(int64_t t, int64_t ns, uint64_t handle)
{
	call(OP_CU_GRAPH_LAUNCH, t + US, ns - 2 * US, handle, 0);
	s.ev.v[s.ev.n - 1].depth = 1;
	call(OP_CUDA_GRAPH_LAUNCH, t, ns, handle, 0);
}

static void step(int64_t t, uint64_t handle)
{
	launch(t + 5 * MS, 10 * US, handle);
	stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, t + 6 * MS, t + 9 * MS);
}

static void remake(bool keep, bool destroyed)
{
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t t = i * EVERY;

		if (i % 4 == 0)
			capture(t, 1 + i / 4, 0);
		step(t, 1 + i / 4);
		if (!keep && destroyed && i % 4 == 3)
			call(OP_CUDA_GRAPH_EXEC_DESTROY, t + 9500 * US, 5 * US, 1 + i / 4, 0);
	}
}

/* Two places that make graphs in turn are two chains, each with its own time. */
static void two_places(void)
{
	struct kinds_run p;
	uint64_t sum = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		int64_t t = i * EVERY;

		line = 1 + i / 4 % 2;
		if (i % 4 == 0)
			capture(t, 1 + i / 4, 0);
		step(t, 1 + i / 4);
		if (i % 4 == 3)
			call(OP_CUDA_GRAPH_EXEC_DESTROY, t + 9500 * US, 5 * US, 1 + i / 4, 0);
	}
	line = 0;
	analyze(&s, &p);
	for (size_t i = 0; i < p.list.v.n; i++) {
		is_str(p.list.v.v[i].kind.p, "graph-recapture", "of two places");
		sum += p.list.v.v[i].lost_ns;
	}
	is_u64(p.list.v.n, 2, "each is told");
	is_u64(sum, 98 * 3 * MS, "with all that both take");
	chain_list_free(&p.list);
}

/* The first twenty go, and all later ones stay: told as made again and again first, it is one chain
 * when they turn out to be kept. */
static void kept_later(void)
{
	for (unsigned i = 0; i < STEPS; i++) {
		int64_t t = i * EVERY;

		if (i % 4 == 0)
			capture(t, 1 + i / 4, 0);
		step(t, 1 + i / 4);
		if (i < 80 && i % 4 == 3)
			call(OP_CUDA_GRAPH_EXEC_DESTROY, t + 9500 * US, 5 * US, 1 + i / 4, 0);
	}
	tells(&s, "graph-pool", "80 are alive", 99 * 3 * MS);
}

int main(void)
{
	unsigned i;

	s = stage_new();
	v = stage_actor(&s, 100, 100, 1, "serve");
	remake(false, true);
	tells(&s, "graph-recapture", "each launched 4.0 times", 99 * 3 * MS);
	remake(true, false);
	tells(&s, "graph-pool", "100 are alive", 99 * 3 * MS);
	two_places();
	kept_later();

	for (i = 0; i < 100; i++)
		capture(i * EVERY, 1 + i, 0);
	for (i = 100; i < STEPS; i++)
		step(i * EVERY, 1 + i % 100);
	silent(&s, "graphs of a hundred sizes, made before the first is launched");

	for (i = 0; i < STEPS; i++) {
		if (i % 4 == 0)
			call(OP_CUDA_GRAPH_EXEC_UPDATE, i * EVERY, 50 * US, 1, 0);
		if (i == 0)
			capture(i * EVERY + MS, 1, 0);
		step(i * EVERY, 1);
	}
	silent(&s, "one graph that is updated");

	for (i = 0; i < STEPS; i++) {
		if (i == 10 || i == 200)
			capture(i * EVERY, i, 900);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, i * EVERY + 6 * MS, i * EVERY + 9 * MS);
	}
	tells(&s, "graph-capture-failed", "broken by cudaMalloc", 0);

	for (i = 0; i < STEPS; i++) {
		if (i == 0)
			capture(0, 1, 0);
		step(i * EVERY, 1);
		if (i >= 100 && i % 4 == 0)
			launch(i * EVERY + 5100 * US, 800 * US, 1);
	}
	tells(&s, "graph-launch-late", "launched again before anybody waited",
	      75 * (800 - 10) * US);

	for (i = 0; i < STEPS; i++) {
		if (i == 0)
			capture(0, 1, 0);
		launch(i * EVERY + 5 * MS, i % 8 ? 3 * MS : 10 * US, 1);
	}
	silent(&s, "a device that has more than enough to do");

	for (i = 0; i < STEPS; i++) {
		capture(i * EVERY, 1 + i, 0);
		stage_call(&s, v, OP_CUDA_STREAM_SYNC, 0, i * EVERY + 6 * MS, i * EVERY + 9 * MS);
		s.ev.v[s.ev.n - 1].ret = 0;
	}
	silent(&s, "graphs that are made and not launched yet");
	stage_free(&s);
	return tap_done();
}
