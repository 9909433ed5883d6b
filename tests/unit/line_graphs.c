/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs are followed however many there were in processes that have ended.
 */
#include "tests/tap.h"

#include "lib/gpustate/graphs.h"
#include "tests/unit/events.h"

#define PROCESSES 80
#define EACH	  1000

static struct stage s;
static uint64_t heard[GRAPH_CREATED + 1];

static bool hears(void *ctx, const struct graph_told *t)
{
	(void)ctx;
	heard[t->what]++;
	return true;
}

static void call(struct actor a, uint16_t op, int64_t t, uint64_t handle)
{
	struct event *ev = stage_call(&s, a, op, 0, t, t + 5);

	ev->stack = 1;
	stage_set(ev, COL_STREAM, 7);
	stage_set(ev, COL_GRAPH, 0x9000 + handle);
	stage_set(ev, COL_EXEC, handle);
}

static void run(struct graphs *g)
{
	for (size_t i = 0; i < s.ev.n; i++) {
		const struct op_def *op = op_builtin(s.ev.v[i].op);

		if (graphs_want(op) && !graphs_event(g, &s.ev.v[i], op))
			abort();
	}
	s.ev.n = 0;
}

int main(void)
{
	struct graphs *g;
	struct actor a;
	int64_t t = 0;
	size_t open = 0;
	uint64_t launches = 0;

	s = stage_new();
	g = graphs_new(s.w, hears, NULL);
	for (uint32_t p = 0; p < PROCESSES; p++) {
		a = stage_actor(&s, 100 + p, 100 + p, 1, "job");
		for (uint64_t i = 1; i <= EACH; i++, t += 40) {
			call(a, OP_CUDA_STREAM_BEGIN_CAPTURE, t, i);
			call(a, OP_CUDA_STREAM_END_CAPTURE, t + 10, i);
			call(a, OP_CUDA_GRAPH_INSTANTIATE, t + 20, i);
			call(a, OP_CUDA_GRAPH_LAUNCH, t + 30, i);
		}
		for (uint64_t i = 0; i < 5; i++, t += 10) {
			call(a, OP_CUDA_STREAM_BEGIN_CAPTURE, t, i);
			stage_set(&s.ev.v[s.ev.n - 1], COL_STREAM, 100 + i);
		}
		stage_event(&s, OP_PROC_EXIT, a.ctx, 0, t, t);
		t += 10;
		run(g);
	}
	a = stage_actor(&s, 99, 99, 1, "last");
	call(a, OP_CUDA_STREAM_BEGIN_CAPTURE, t, 1);
	run(g);
	open = g->open.n;
	is_u64(heard[GRAPH_CREATED], PROCESSES * EACH, "every graph is told of");
	for (size_t i = 0; i < g->sites.n; i++)
		launches += g->sites.v[i].launches;
	is_u64(launches, PROCESSES * EACH, "and known when it is launched");
	is_u64(g->exec_by.n + g->graph_by.n, 0, "nothing is kept of who has ended");
	is_u64(open, 1, "nor what they were capturing");
	is_u64(g->sites.v[0].alive, EACH, "but what they left at their places");
	graphs_free(g);
	stage_free(&s);
	return tap_done();
}
