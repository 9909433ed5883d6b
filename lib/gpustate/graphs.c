/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks CUDA graphs from capture to destruction by their handles. Handles are numbers that come
 * again after something was destroyed: a handle that is created while it is known means that its
 * end was not seen.
 */
#include "lib/gpustate/graphs.h"

#include <stdlib.h>

#include "lib/base/hash.h"

enum {
	CLASS_BEGIN,
	CLASS_END,
	CLASS_CREATE,
	CLASS_LAUNCH,
	CLASS_DESTROY_EXEC,
	CLASS_DESTROY_GRAPH,
	CLASS_EXIT
};

static int class_of(uint16_t op)
{
	switch (op) {
	case OP_CUDA_STREAM_BEGIN_CAPTURE:
	case OP_CUDA_STREAM_BEGIN_CAPTURE_TO_GRAPH:
	case OP_CU_STREAM_BEGIN_CAPTURE:
	case OP_CU_STREAM_BEGIN_CAPTURE_TO_GRAPH:
		return CLASS_BEGIN;
	case OP_CUDA_STREAM_END_CAPTURE:
	case OP_CU_STREAM_END_CAPTURE:
		return CLASS_END;
	case OP_CUDA_GRAPH_INSTANTIATE:
	case OP_CUDA_GRAPH_INSTANTIATE_WITH_FLAGS:
	case OP_CUDA_GRAPH_INSTANTIATE_WITH_PARAMS:
	case OP_CU_GRAPH_INSTANTIATE:
	case OP_CU_GRAPH_INSTANTIATE_WITH_FLAGS:
	case OP_CU_GRAPH_INSTANTIATE_WITH_PARAMS:
		return CLASS_CREATE;
	case OP_CUDA_GRAPH_LAUNCH:
	case OP_CU_GRAPH_LAUNCH:
		return CLASS_LAUNCH;
	case OP_CUDA_GRAPH_EXEC_DESTROY:
	case OP_CU_GRAPH_EXEC_DESTROY:
		return CLASS_DESTROY_EXEC;
	case OP_CUDA_GRAPH_DESTROY:
	case OP_CU_GRAPH_DESTROY:
		return CLASS_DESTROY_GRAPH;
	case OP_PROC_EXIT:
		return CLASS_EXIT;
	default:
		return -1;
	}
}

bool graphs_want(const struct op_def *op)
{
	return op && class_of(op->id) >= 0;
}

static uint64_t key_of(uint32_t process, uint64_t handle)
{
	return hash_u64(handle ^ hash_u64(process));
}

static bool site_at(struct graphs *g, uint32_t process, uint16_t op, uint32_t stack, uint32_t *at)
{
	struct graph_site fresh = { .process = process, .stack = stack, .op = op };
	uint64_t key = hash_u64((uint64_t)process << 32 | stack) ^ hash_u64(op), pos;

	for (;; key++) {
		if (!map_get(&g->site_by, key, &pos)) {
			if (stack && g->sites.n >= GRAPH_SITES_MAX)
				return site_at(g, process, op, 0, at);
			*at = (uint32_t)g->sites.n;
			return vec_push(&g->sites, fresh) && map_put(&g->site_by, key, *at);
		}
		*at = (uint32_t)pos;
		if (g->sites.v[pos].process == process && g->sites.v[pos].op == op &&
		    g->sites.v[pos].stack == stack)
			return true;
	}
}

/* A stream is captured once at a time: where a capture begins, one that is open has ended, and that
 * was lost. NULL: all of the process's. */
static void close_lost(struct graphs *g, uint32_t process, const uint64_t *stream)
{
	size_t n = 0;

	for (size_t i = 0; i < g->open.n; i++) {
		if (g->open.v[i].process != process || (stream && g->open.v[i].stream != *stream))
			g->open.v[n++] = g->open.v[i];
	}
	g->open.n = n;
}

static bool notify_listener(const struct graphs *g, const struct graph_told *t)
{
	return !g->told || g->told(g->ctx, t);
}

static bool on_begun(struct graphs *g, const struct once_call *c)
{
	struct graph_told t = { .what = GRAPH_BEGUN, .call = c };
	struct graph_capture k = { .process = c->process,
				   .thread = c->thread,
				   .stack = c->ev.stack,
				   .op = c->ev.op,
				   .start_ns = event_start(&c->ev),
				   .end_ns = c->ev.end_ns };

	event_get(&c->ev, c->op, COL_STREAM, &k.stream);
	if (c->ev.ret == 0)
		close_lost(g, c->process, &k.stream);
	if (c->ev.ret == 0 && g->open.n < GRAPH_OPEN_MAX && !vec_push(&g->open, k))
		return false;
	t.capture = &k;
	return notify_listener(g, &t);
}

static bool on_captured(struct graphs *g, const struct once_call *c)
{
	struct graph_told t = { .what = GRAPH_CAPTURED, .call = c };
	struct graph_made m = { .process = c->process, .used = true };
	struct graph_capture k;
	uint64_t stream = 0, handle, pos;
	size_t i = g->open.n;

	event_get(&c->ev, c->op, COL_STREAM, &stream);
	while (i > 0 &&
	       (g->open.v[i - 1].process != c->process || g->open.v[i - 1].stream != stream))
		i--;
	if (i == 0) /* begun before the recording */
		return true;
	k = g->open.v[i - 1];
	for (g->open.n--, i--; i < g->open.n; i++)
		g->open.v[i] = g->open.v[i + 1];
	k.end_ns = c->ev.end_ns;
	t.capture = &k;
	if (c->ev.ret == 0 && event_get(&c->ev, c->op, COL_GRAPH, &handle) && handle) {
		m.key = key_of(c->process, handle);
		m.cost_ns = (uint64_t)(k.end_ns - k.start_ns);
		if (!site_at(g, k.process, k.op, k.stack, &m.site))
			return false;
		if (!map_get(&g->graph_by, m.key, &pos)) {
			if (!g->unused_graphs.n && g->graphs.n >= GRAPHS_MAX)
				return notify_listener(g, &t);
			pos = vec_place(&g->graphs, &g->unused_graphs);
			if (pos == UINT32_MAX || !map_put(&g->graph_by, m.key, pos))
				return false;
		}
		g->graphs.v[pos] = m;
	}
	return notify_listener(g, &t);
}

static bool drop_exec(struct graphs *g, uint64_t at)
{
	struct graph_exec *x = &g->execs.v[at];

	g->sites.v[x->site].alive--;
	map_del(&g->exec_by, x->key);
	x->used = false;
	return vec_push(&g->unused, (uint32_t)at);
}

static bool on_created(struct graphs *g, const struct once_call *c)
{
	struct graph_told t = { .what = GRAPH_CREATED, .call = c, .cost_ns = c->ev.dur_ns };
	struct graph_exec x = { .process = c->process, .used = true };
	struct graph_site *s;
	uint64_t handle, graph = 0, pos;

	if (c->ev.ret != 0 || !event_get(&c->ev, c->op, COL_EXEC, &handle) || handle == 0)
		return true;
	x.key = key_of(c->process, handle);
	if (map_get(&g->exec_by, x.key, &pos) && !drop_exec(g, pos))
		return false;
	if (event_get(&c->ev, c->op, COL_GRAPH, &graph) &&
	    map_get(&g->graph_by, key_of(c->process, graph), &pos)) {
		x.site = g->graphs.v[pos].site;
		t.cost_ns += g->graphs.v[pos].cost_ns;
		g->graphs.v[pos].cost_ns = 0;
	} else if (!site_at(g, c->process, c->ev.op, c->ev.stack, &x.site)) {
		return false;
	}
	if (!g->unused.n && g->execs.n >= GRAPHS_MAX)
		return true;
	pos = vec_place(&g->execs, &g->unused);
	if (pos == UINT32_MAX || !map_put(&g->exec_by, x.key, pos))
		return false;
	g->execs.v[pos] = x;
	s = &g->sites.v[x.site];
	t.again = s->launches > 0;
	t.site = x.site;
	s->created++;
	s->again += t.again;
	s->alive++;
	if (s->alive > s->most_alive)
		s->most_alive = s->alive;
	return notify_listener(g, &t);
}

static bool on_used(struct graphs *g, const struct once_call *c, bool launch)
{
	uint64_t handle, pos;

	if (c->ev.ret != 0 || !event_get(&c->ev, c->op, COL_EXEC, &handle) ||
	    !map_get(&g->exec_by, key_of(c->process, handle), &pos))
		return true;
	g->sites.v[g->execs.v[pos].site].launches += launch;
	return launch || drop_exec(g, pos);
}

static bool drop_graph(struct graphs *g, uint64_t at)
{
	map_del(&g->graph_by, g->graphs.v[at].key);
	g->graphs.v[at].used = false;
	return vec_push(&g->unused_graphs, (uint32_t)at);
}

static bool graph_destroyed(struct graphs *g, const struct once_call *c)
{
	uint64_t handle, pos;

	if (c->ev.ret != 0 || !event_get(&c->ev, c->op, COL_GRAPH, &handle) ||
	    !map_get(&g->graph_by, key_of(c->process, handle), &pos))
		return true;
	return drop_graph(g, pos);
}

/* A process ended: its handles are void. Its sites stay, with what was alive there. */
static bool on_ended(struct graphs *g, const struct once_call *c)
{
	const struct world_process *p = world_get_process(g->once.w, c->process);
	const struct world_thread *t = world_get_thread(g->once.w, c->thread);
	bool any = false;

	for (size_t i = 0; i < g->sites.n && !any; i++)
		any = g->sites.v[i].process == c->process;
	if (!any || !p || !t || p->tgid != t->tid)
		return true;
	close_lost(g, c->process, NULL);
	for (size_t i = 0; i < g->graphs.n; i++) {
		if (g->graphs.v[i].used && g->graphs.v[i].process == c->process &&
		    !drop_graph(g, i))
			return false;
	}
	for (size_t i = 0; i < g->execs.n; i++) {
		struct graph_exec *x = &g->execs.v[i];

		if (!x->used || x->process != c->process)
			continue;
		if (!drop_exec(g, i))
			return false;
		g->sites.v[x->site].alive++;
	}
	return true;
}

static bool on_call(void *ctx, const struct once_call *c)
{
	struct graphs *g = ctx;

	switch (c->class) {
	case CLASS_BEGIN:
		return on_begun(g, c);
	case CLASS_END:
		return on_captured(g, c);
	case CLASS_CREATE:
		return on_created(g, c);
	case CLASS_DESTROY_GRAPH:
		return graph_destroyed(g, c);
	case CLASS_EXIT:
		return on_ended(g, c);
	default:
		return on_used(g, c, c->class == CLASS_LAUNCH);
	}
}

bool graphs_event(struct graphs *g, const struct event *ev, const struct op_def *op)
{
	return once_event(&g->once, ev, op, (unsigned)class_of(op->id));
}

bool graphs_settle(struct graphs *g, int64_t before_ns)
{
	return once_flush(&g->once, before_ns);
}

struct graphs *graphs_new(const struct world *w,
			  bool (*told)(void *ctx, const struct graph_told *t), void *ctx)
{
	struct graphs *g = calloc(1, sizeof(*g));

	if (g) {
		g->once.w = w;
		g->once.told = on_call;
		g->once.ctx = g;
		g->told = told;
		g->ctx = ctx;
	}
	return g;
}

void graphs_free(struct graphs *g)
{
	if (!g)
		return;
	once_free(&g->once);
	vec_free(&g->open);
	map_free(&g->graph_by);
	vec_free(&g->graphs);
	vec_free(&g->unused_graphs);
	map_free(&g->exec_by);
	vec_free(&g->execs);
	vec_free(&g->unused);
	map_free(&g->site_by);
	vec_free(&g->sites);
	free(g);
}
