/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts calls by process and function for ingero-explain --per-process. The pair is found by the
 * event's context and op, which are looked up once per context; processes and GPUs get their names
 * when everything is counted.
 */
#include "lib/query/process_ops.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/map.h"
#include "lib/stat/sketch.h"

struct pair {
	uint32_t process;
	uint16_t op;
	struct sketch durations;
};

struct use {
	uint32_t process, gpu, ctx; /* ctx: the newest */
};

struct process_ops {
	const struct world *w;
	VEC(struct pair) pairs;
	VEC(struct use) uses;
	struct map by_ctx;  /* ctx << 16 | op -> pair + 1, 0: no process */
	struct map by_pair; /* process << 16 | op -> pair + 1 */
	struct map by_use;  /* process << 32 | gpu -> use + 1 */
	struct op_totals answer;
};

struct process_ops *process_ops_new(const struct world *w)
{
	struct process_ops *a = calloc(1, sizeof(*a));

	if (a)
		a->w = w;
	return a;
}

static bool add_use(struct process_ops *a, uint32_t process, uint32_t ctx)
{
	uint64_t key = (uint64_t)process << 32 | world_get_ctx(a->w, ctx)->gpu, at;

	if (map_get(&a->by_use, key, &at)) {
		a->uses.v[at - 1].ctx = ctx;
		return true;
	}
	return vec_push(&a->uses, (struct use){ process, (uint32_t)key, ctx }) &&
	       map_put(&a->by_use, key, a->uses.n);
}

/* *at: its pair + 1, 0 where the event is of no process. False: out of memory. */
static bool find_pair(struct process_ops *a, const struct event *ev, uint64_t *at)
{
	uint32_t process = world_ctx_process_id(a->w, ev->ctx);
	uint64_t key = (uint64_t)process << 16 | ev->op;

	*at = 0;
	if (!process)
		return true;
	if (!add_use(a, process, ev->ctx))
		return false;
	if (map_get(&a->by_pair, key, at))
		return true;
	if (!vec_push(&a->pairs, (struct pair){ .process = process, .op = ev->op }))
		return false;
	*at = a->pairs.n;
	return map_put(&a->by_pair, key, *at);
}

static bool count_call(struct process_ops *a, const struct event *ev)
{
	uint64_t key = (uint64_t)ev->ctx << 16 | ev->op, at;

	if (!map_get(&a->by_ctx, key, &at) &&
	    !(find_pair(a, ev, &at) && map_put(&a->by_ctx, key, at)))
		return false;
	return at == 0 || sketch_add(&a->pairs.v[at - 1].durations, ev->dur_ns);
}

int process_ops_item(struct process_ops *a, const struct stream_item *item, struct err *e)
{
	for (size_t i = 0; item->kind == STREAM_EVENTS && i < item->n; i++) {
		const struct op_def *op = world_op(a->w, item->events[i].op);

		if (op && op->flags & OP_CALL && !count_call(a, &item->events[i]))
			return err_nomem(e);
	}
	return 0;
}

static struct bytes node_name(const struct world *w, uint32_t node)
{
	return world_node_name(w, node);
}

static struct op_totals_row row_of(const struct process_ops *a, const struct pair *p)
{
	const struct world_process *process = world_get_process(a->w, p->process);

	return (struct op_totals_row){ .op = world_op(a->w, p->op),
				       .pid = process ? process->tgid : 0,
				       .node = node_name(a->w, process ? process->node : 0),
				       .calls = p->durations.count,
				       .total_ns = p->durations.sum,
				       .p50_ns = sketch_quantile(&p->durations, 0.5),
				       .p95_ns = sketch_quantile(&p->durations, 0.95),
				       .p99_ns = sketch_quantile(&p->durations, 0.99),
				       .max_ns = p->durations.max };
}

static struct op_totals_use use_of(const struct process_ops *a, const struct use *u)
{
	const struct world_process *process = world_get_process(a->w, u->process);
	const struct world_ctx *c = world_get_ctx(a->w, u->ctx);
	const struct world_image *im = c ? world_get_image(a->w, c->image) : NULL;
	const struct world_gpu *gpu = world_get_gpu(a->w, u->gpu);

	return (struct op_totals_use){ .gpu = u->gpu,
				       .index = gpu ? gpu->index : 0,
				       .gpu_name = world_text(a->w, gpu ? gpu->name : 0),
				       .node = node_name(a->w, process ? process->node : 0),
				       .comm = world_text(a->w, im ? im->comm : 0),
				       .pid = process ? process->tgid : 0 };
}

static int compare_names(struct bytes a, struct bytes b)
{
	int order = memcmp(a.p ? a.p : "", b.p ? b.p : "", a.n < b.n ? a.n : b.n);

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare_rows(const void *a, const void *b)
{
	const struct op_totals_row *x = a, *y = b;
	int nodes = compare_names(x->node, y->node);

	if (nodes)
		return nodes;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (int)x->op->id - (int)y->op->id;
}

static int compare_uses(const void *a, const void *b)
{
	const struct op_totals_use *x = a, *y = b;
	int nodes = compare_names(x->node, y->node);

	if (nodes)
		return nodes;
	if (x->gpu != y->gpu)
		return x->index != y->index ? (x->index < y->index ? -1 : 1)
					    : (x->gpu < y->gpu ? -1 : 1);
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

const struct op_totals *process_ops_end(struct process_ops *a)
{
	a->answer.rows.n = a->answer.uses.n = 0;
	for (size_t i = 0; i < a->pairs.n; i++)
		if (!vec_push(&a->answer.rows, row_of(a, &a->pairs.v[i])))
			return NULL;
	for (size_t i = 0; i < a->uses.n; i++)
		if (!vec_push(&a->answer.uses, use_of(a, &a->uses.v[i])))
			return NULL;
	if (a->answer.rows.n)
		qsort(a->answer.rows.v, a->answer.rows.n, sizeof(*a->answer.rows.v), compare_rows);
	if (a->answer.uses.n)
		qsort(a->answer.uses.v, a->answer.uses.n, sizeof(*a->answer.uses.v), compare_uses);
	return &a->answer;
}

void process_ops_free(struct process_ops *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->pairs.n; i++)
		sketch_free(&a->pairs.v[i].durations);
	vec_free(&a->pairs);
	vec_free(&a->uses);
	vec_free(&a->answer.rows);
	vec_free(&a->answer.uses);
	map_free(&a->by_ctx);
	map_free(&a->by_pair);
	map_free(&a->by_use);
	free(a);
}
