/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what lives in a device between calls: memory by call site and executable graphs. */
#include "lib/query/sections_internal.h"

#include "lib/account/names.h"

bool query_gpu_objects_start(struct query_gpu_objects *l, const struct world *w, bool memory,
			     bool graphs)
{
	l->live = memory ? live_new(w, NULL, NULL) : NULL;
	l->graphs = graphs ? graphs_new(w, NULL, NULL) : NULL;
	return (!memory || l->live) && (!graphs || l->graphs);
}

void query_gpu_objects_free(struct query_gpu_objects *l)
{
	live_free(l->live);
	graphs_free(l->graphs);
}

bool query_gpu_objects_event(struct query_gpu_objects *l, const struct event *ev,
			     const struct op_def *op)
{
	if (l->live && live_wants(op) && !live_event(l->live, ev, op))
		return false;
	return !l->graphs || !graphs_want(op) || graphs_event(l->graphs, ev, op);
}

bool query_gpu_objects_advance(struct query_gpu_objects *l, int64_t before_ns)
{
	return (!l->live || live_settle(l->live, before_ns)) &&
	       (!l->graphs || graphs_settle(l->graphs, before_ns));
}

/* 0: there is no stack, or memory is out. */
static uint32_t site_text(struct world *w, uint32_t stack)
{
	uint32_t frame = name_site_frame(w, stack), text;
	struct buf out = { 0 };

	if (!frame)
		return 0;
	name_frame(&out, w, frame);
	text = out.failed ? 0 : world_string(w, buf_bytes(&out));
	buf_free(&out);
	return text;
}

static void add_sites(const struct live *l, const struct live_process *p, struct world *w,
		      struct view_memory *row)
{
	uint32_t v[VIEW_SITES];

	row->nsites = live_top(l, p->process, true, v, VIEW_SITES);
	for (unsigned i = 0; i < row->nsites; i++) {
		const struct live_site *s = &l->sites.v[v[i]];

		row->sites[i] = (struct view_site){
			.text = site_text(w, s->stack),
			.op = world_op(w, s->op),
			.bytes = s->bytes,
			.n = s->n,
			.at_peak_bytes = s->peak_seen == p->peaks ? s->at_peak_bytes : s->bytes,
			.allocations = s->allocs,
		};
	}
}

static void add_history(const struct live_history *h, struct view_memory *row)
{
	unsigned each = h->n ? (h->n - 1) / VIEW_POINTS + 1 : 1;

	row->span_ns = h->span_ns * each;
	for (unsigned i = 0; i < h->n; i++) {
		double *point = &row->points[i / each], most = (double)h->v[i].most;

		*point = most > *point ? most : *point;
		row->npoints = i / each + 1;
	}
}

static int by_peak(const void *a, const void *b)
{
	const struct view_memory *x = a, *y = b;

	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes > y->peak_bytes ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static int by_launches(const void *a, const void *b)
{
	const struct view_graph *x = a, *y = b;

	if (x->launches != y->launches)
		return x->launches > y->launches ? -1 : 1;
	if (x->created != y->created)
		return x->created > y->created ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

static bool memory_rows(const struct live *l, struct world *w,
			bool (*wanted)(const void *ctx, uint32_t process), const void *ctx,
			struct view *v)
{
	for (size_t i = 0; i < l->processes.n; i++) {
		const struct live_process *p = l->processes.v[i];
		struct view_memory row = { .process = p->process,
					   .live_bytes = live_bytes(p),
					   .managed_bytes = p->bytes[LIVE_MANAGED],
					   .pinned_bytes = p->bytes[LIVE_PINNED],
					   .n = p->n,
					   .peak_bytes = p->peak_bytes,
					   .peak_ns = p->peak_ns,
					   .allocations = p->allocs,
					   .frees = p->frees,
					   .failed = p->failed,
					   .unknown_frees = p->unknown_frees,
					   .beyond = p->beyond,
					   .ended = p->ended };

		if (!wanted(ctx, p->process))
			continue;
		add_sites(l, p, w, &row);
		add_history(&p->history, &row);
		if (!vec_push(&v->memory, row))
			return false;
	}
	if (v->memory.n)
		qsort(v->memory.v, v->memory.n, sizeof(*v->memory.v), by_peak);
	return true;
}

static bool graph_rows(const struct graphs *g, struct world *w,
		       bool (*wanted)(const void *ctx, uint32_t process), const void *ctx,
		       struct view *v)
{
	for (size_t i = 0; i < g->sites.n; i++) {
		const struct graph_site *s = &g->sites.v[i];
		struct view_graph row = { .process = s->process,
					  .op = world_op(w, s->op),
					  .created = s->created,
					  .again = s->again,
					  .launches = s->launches,
					  .alive = s->alive,
					  .most_alive = s->most_alive };

		if (!wanted(ctx, s->process))
			continue;
		row.site = site_text(w, s->stack);
		if (!vec_push(&v->graphs, row))
			return false;
	}
	if (v->graphs.n)
		qsort(v->graphs.v, v->graphs.n, sizeof(*v->graphs.v), by_launches);
	return true;
}

bool query_gpu_objects_rows(const struct query_gpu_objects *l, struct world *w,
			    bool (*wanted)(const void *ctx, uint32_t process), const void *ctx,
			    struct view *v)
{
	v->memory.n = v->graphs.n = 0;
	return (!l->live || memory_rows(l->live, w, wanted, ctx, v)) &&
	       (!l->graphs || graph_rows(l->graphs, w, wanted, ctx, v));
}
