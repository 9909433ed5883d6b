/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture and graphs of the double's device. */
#include "graph.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define CAPTURES 64 /* at once */

struct graph {
	uint64_t ns;
	size_t nnodes;
	struct work *works; /* of those nodes that do something */
	size_t nworks, room;
};

/* A stream remembers the id alone, so it may outlive the capture. */
static struct capture {
	_Atomic uint64_t id; /* 0: free */
	struct graph *graph;
} captures[CAPTURES];

/* Threads may add to one capture at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_id;

static struct graph *graph_of(void *handle, enum memory_kind kind)
{
	struct memory_range r = memory_find((uintptr_t)handle);

	return r.kind == kind && r.start == (uintptr_t)handle ? handle : NULL;
}

static struct graph *make_graph(const struct graph *from, enum memory_kind kind)
{
	struct graph *g;
	uint64_t p;

	if (memory_alloc(&p, sizeof *g, kind))
		abort();
	g = (struct graph *)(uintptr_t)p;
	*g = from ? *from : (struct graph){ 0 };
	g->room = g->nworks;
	g->works = NULL;
	if (g->nworks) {
		g->works = malloc(g->nworks * sizeof *g->works);
		if (!g->works)
			abort();
		memcpy(g->works, from->works, g->nworks * sizeof *g->works);
	}
	return g;
}

static void free_graph(struct graph *g)
{
	if (!g)
		return;
	free(g->works);
	memory_free((uintptr_t)g);
}

static struct capture *find_capture(uint64_t id)
{
	struct capture *c = &captures[id % CAPTURES];

	return id && atomic_load_explicit(&c->id, memory_order_relaxed) == id ? c : NULL;
}

uint64_t capture_begin(void *into)
{
	struct graph *g = graph_of(into, MEMORY_GRAPH);
	uint64_t id = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < CAPTURES && !id; i++)
		if (!captures[++last_id % CAPTURES].id)
			id = last_id;
	if (id) {
		captures[id % CAPTURES].graph = g ? g : make_graph(NULL, MEMORY_GRAPH);
		atomic_store(&captures[id % CAPTURES].id, id);
	}
	pthread_mutex_unlock(&lock);
	return id;
}

bool capture_is_active(uint64_t id)
{
	return find_capture(id) != NULL;
}

static void add_work(struct graph *g, const struct work *w)
{
	if (g->nworks == g->room) {
		g->room = g->room ? 2 * g->room : 16;
		g->works = realloc(g->works, g->room * sizeof *g->works);
		if (!g->works)
			abort();
	}
	g->works[g->nworks++] = *w;
}

void capture_add(uint64_t id, uint64_t ns, const struct work *w)
{
	struct capture *c;

	pthread_mutex_lock(&lock);
	c = find_capture(id);
	if (c) {
		c->graph->nnodes++;
		c->graph->ns += ns;
		if (w)
			add_work(c->graph, w);
	}
	pthread_mutex_unlock(&lock);
}

void *capture_graph(uint64_t id)
{
	struct capture *c = find_capture(id);

	return c ? c->graph : NULL;
}

void *capture_end(uint64_t id)
{
	struct capture *c;
	struct graph *g = NULL;

	pthread_mutex_lock(&lock);
	c = find_capture(id);
	if (c) {
		g = c->graph;
		atomic_store(&c->id, 0);
	}
	pthread_mutex_unlock(&lock);
	return g;
}

void *graph_create(void)
{
	return make_graph(NULL, MEMORY_GRAPH);
}

void *graph_clone(void *graph)
{
	return make_graph(graph_of(graph, MEMORY_GRAPH), MEMORY_GRAPH);
}

void graph_destroy(void *graph)
{
	free_graph(graph_of(graph, MEMORY_GRAPH));
}

void *graph_instantiate(void *graph)
{
	return make_graph(graph_of(graph, MEMORY_GRAPH), MEMORY_EXEC);
}

void graph_update(void *exec, void *graph)
{
	struct graph *to = graph_of(exec, MEMORY_EXEC), *from = graph_of(graph, MEMORY_GRAPH), *g;

	if (!to || !from)
		return;
	g = make_graph(from, MEMORY_EXEC);
	free(to->works);
	*to = *g;
	g->works = NULL;
	free_graph(g);
}

void graph_exec_destroy(void *exec)
{
	free_graph(graph_of(exec, MEMORY_EXEC));
}

void graph_nodes(void *graph, void **nodes, size_t *n)
{
	const struct graph *g = graph_of(graph, MEMORY_GRAPH);
	size_t all = g ? g->nnodes : 0;

	for (size_t i = 0; nodes && i < *n && i < all; i++)
		nodes[i] = (char *)graph + 1 + i;
	*n = all;
}

uint64_t graph_run(void *exec)
{
	const struct graph *g = graph_of(exec, MEMORY_EXEC);

	if (!g)
		return 0;
	for (size_t i = 0; i < g->nworks; i++)
		work_run(&g->works[i]);
	return g->ns;
}
