/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counted by ids (two numbers), put together by text when asked.
 */
#include "lib/query/group_by.h"

#include <stdlib.h>

#include "lib/query/by_label.h"
#include "lib/query/by_steps.h"
#include "lib/query/layers.h"
#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/account/names.h"
#include "lib/stat/sketch.h"

struct slot {
	struct by_id id;
	size_t outer;	/* of a kernel's handle: the slot of the handle that the runtime launches it
			   by, + 1; 0 none was seen */
	uint32_t class; /* layer_class of calls in it */
	uint64_t count, errors, self_ns, calls_self_ns, lost_ns;
	struct sketch durations; /* of what has one */
	struct coverage_row covered;
};

/* The first slots. */
enum { SLOT_NONE, SLOT_UNKNOWN, SLOT_OTHER, SLOTS_FIRST };

struct query_by {
	struct world *w;
	bool by_text, calls_only, no_numbers;
	VEC(struct slot) slots;
	struct map by_id; /* hash -> index */
	size_t last;	  /* most events come in runs */
	struct by_places places;
	struct by_kernels kernels; /* BY_KERNEL only */
	struct by_steps *steps;	   /* BY_STEP only: it has all rows */
	struct layers layers;	   /* calls that may lie in one of their own row */
	struct by_table table;
	const struct coverage *covered; /* NULL: all of the time */
};

static bool count_outermost(void *ctx, const struct layer_call *call);
static void learn_outer(void *ctx, const struct layer_call *inner, const struct layer_call *outer);

struct query_by *query_by_new(struct world *w, enum by_key key, unsigned how)
{
	struct query_by *by = calloc(1, sizeof(*by));

	if (!by)
		return NULL;
	by->w = w;
	by->layers = (struct layers){ .count = count_outermost, .ctx = by };
	if (key == BY_KERNEL)
		by->layers.fold = learn_outer;
	by->table.key = key;
	if (key == BY_STEP && !(by->steps = by_steps_new(w))) {
		query_by_free(by);
		return NULL;
	}
	by->no_numbers = how & BY_TEXT;
	by->by_text = how & BY_TEXT || by_label_shared(key);
	by->calls_only = how & BY_CALLS;
	for (unsigned i = 0; i < SLOTS_FIRST; i++) {
		const struct slot first = { .class = key == BY_KERNEL ? i != SLOT_NONE : i };

		if (!vec_push(&by->slots, first)) {
			query_by_free(by);
			return NULL;
		}
	}
	return by;
}

void query_by_free(struct query_by *by)
{
	if (!by)
		return;
	for (size_t i = 0; i < by->slots.n; i++) {
		sketch_free(&by->slots.v[i].durations);
		coverage_row_free(&by->slots.v[i].covered);
	}
	vec_free(&by->slots);
	map_free(&by->by_id);
	by_places_free(&by->places);
	kernel_names_free(&by->kernels.names);
	map_free(&by->kernels.libraries);
	by_steps_free(by->steps);
	layers_free(&by->layers);
	vec_free(&by->table.rows);
	free(by);
}

void query_by_set_coverage(struct query_by *by, const struct coverage *c)
{
	by->covered = c;
}

static bool has_id(const struct slot *s, struct by_id id)
{
	return s->id.a == id.a && s->id.b == id.b;
}

/* Of two calls with this in common the inner one is the outer one, seen in another layer: the row;
 * of lines, which several stacks lead to, the line; of kernels, which each layer has a handle of
 * its own for, that they launch one. */
static uint32_t layer_class(const struct query_by *by, size_t at, const struct event *ev)
{
	switch (by->table.key) {
	case BY_KERNEL:
		return at != SLOT_NONE;
	case BY_LINE:
		return name_site_frame(by->w, ev->stack);
	default:
		return (uint32_t)at;
	}
}

static struct slot *slot_of(struct query_by *by, const struct event *ev, const struct op_def *op,
			    uint32_t process)
{
	struct by_id id = by_id_of_event(by->w, by->table.key, ev, op, process, &by->kernels);
	uint64_t key, at;

	if (id.a == 0)
		return &by->slots.v[id.none ? SLOT_NONE : SLOT_UNKNOWN];
	if (by->last && has_id(&by->slots.v[by->last], id)) {
		by->slots.v[by->last].id.ctx = ev->ctx;
		return &by->slots.v[by->last];
	}
	for (key = hash_u64(id.a ^ hash_u64(id.b)); map_get(&by->by_id, key, &at); key++) {
		if (!has_id(&by->slots.v[at], id))
			continue;
		by->last = at;
		by->slots.v[at].id.ctx = ev->ctx; /* the newest: a process may call itself anew */
		return &by->slots.v[at];
	}
	if (by->slots.n - SLOTS_FIRST >= BY_KEYS_MAX)
		return &by->slots.v[SLOT_OTHER];
	at = by->slots.n;
	if (!vec_push(&by->slots, (struct slot){ .id = id, .class = layer_class(by, at, ev) }) ||
	    !map_put(&by->by_id, key, at))
		return NULL;
	by->last = at;
	return &by->slots.v[at];
}

static bool count_event(struct slot *s, const struct event *ev, const struct op_def *op)
{
	s->count++;
	s->errors += event_failed(ev->op, ev->ret) && op->flags & OP_CALL;
	return op->track == TRACK_INSTANT || sketch_add(&s->durations, ev->dur_ns);
}

static bool count_outermost(void *ctx, const struct layer_call *call)
{
	struct slot *s = &((struct query_by *)ctx)->slots.v[call->slot];

	const struct coverage *c = ((struct query_by *)ctx)->covered;

	s->count++;
	s->errors += call->failed;
	return sketch_add(&s->durations, call->dur_ns) &&
	       (!c || coverage_count_call(c, &s->covered, call->process, call->op, call->failed,
					  call->start_ns + (int64_t)call->dur_ns, call->dur_ns));
}

/* A driver's handle that is launched by way of the runtime's is the same kernel. */
static void learn_outer(void *ctx, const struct layer_call *inner, const struct layer_call *outer)
{
	struct query_by *by = ctx;

	if (inner->slot != outer->slot)
		by->slots.v[inner->slot].outer = outer->slot + 1ull;
}

bool query_by_event(struct query_by *by, const struct event *ev, const struct op_def *op,
		    uint32_t process, uint64_t self_ns)
{
	const struct world_ctx *c = world_get_ctx(by->w, ev->ctx);
	struct slot *s;

	if (by->calls_only && !(op->flags & OP_CALL))
		return true;
	if (by->steps)
		return by_steps_event(by->steps, ev, op, process, self_ns);
	s = slot_of(by, ev, op, process);
	if (!s)
		return false;
	s->self_ns += self_ns;
	s->calls_self_ns += op->flags & OP_CALL ? self_ns : 0;
	if (by->table.key == BY_OP || !(op->flags & OP_CALL) || !c || !c->thread)
		return count_event(s, ev, op) &&
		       (!by->covered ||
			coverage_count_call(by->covered, &s->covered, process, ev->op,
					    event_failed(ev->op, ev->ret), ev->end_ns, ev->dur_ns));
	return layers_add(&by->layers, c->thread,
			  &(struct layer_call){ .slot = (uint32_t)(s - by->slots.v),
						.class = s->class,
						.process = process,
						.op = ev->op,
						.depth = ev->depth,
						.start_ns = event_start(ev),
						.dur_ns = ev->dur_ns,
						.failed = event_failed(ev->op, ev->ret) });
}

bool query_by_end(struct query_by *by)
{
	return by->steps ? by_steps_finish(by->steps) : layers_flush(&by->layers);
}

bool query_by_add_time(struct query_by *by, const struct event *ev, const struct op_def *op,
		       uint32_t process, uint64_t self_ns, uint64_t lost_ns)
{
	struct slot *s;

	if (by->calls_only && !(op->flags & OP_CALL))
		return true;
	if (by->steps)
		return by_steps_time(by->steps, ev, op, process, self_ns, lost_ns);
	s = slot_of(by, ev, op, process);
	if (!s)
		return false;
	s->self_ns += self_ns;
	s->calls_self_ns += op->flags & OP_CALL ? self_ns : 0;
	s->lost_ns += lost_ns;
	return true;
}

int query_by_item(struct query_by *by, const struct stream_item *item, struct err *e)
{
	return by->steps ? by_steps_item(by->steps, item, e) : 0;
}

bool query_by_record(struct query_by *by, const struct record *rec)
{
	if (by->table.key == BY_KERNEL && rec->kind == RECORD_KERNEL && REC_HAS(rec, KERNEL, func))
		return kernel_names_add(&by->kernels.names, by->w, &rec->u.KERNEL);
	return by_places_record(&by->places, by->w, rec);
}

/* A slot, what it is called, and its times with those of the handles that were only launched by way
 * of it. */
struct named {
	struct by_row row;
	const struct slot *slot;
	struct estimate all; /* of the slot */
	bool alone;	     /* not one with others that read the same */
};

static void add_times(struct by_row *row, const struct slot *s)
{
	row->self_ns += s->self_ns;
	row->calls_self_ns += s->calls_self_ns;
	row->lost_ns += s->lost_ns;
}

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	uint32_t p[4] = { x->row.kind, x->row.key, x->row.name, x->row.node };
	uint32_t q[4] = { y->row.kind, y->row.key, y->row.name, y->row.node };

	for (unsigned i = 0; i < 4; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static bool is_same_row(const struct named *x, const struct named *y)
{
	return x->row.kind == y->row.kind && x->row.key == y->row.key &&
	       x->row.name == y->row.name && x->row.node == y->row.node &&
	       (!x->alone || x->row.kind != BY_KNOWN);
}

static void add_estimate(struct estimate *sum, const struct estimate *e)
{
	sum->is |= e->is;
	sum->least |= e->least;
	sum->count += e->count;
	sum->errors += e->errors;
	sum->total_ns += e->total_ns;
}

/* Own and lost time is as much more as all of it. */
static void scale_times(struct by_row *row)
{
	double times = row->all.is && row->total_ns
			       ? (double)row->all.total_ns / (double)row->total_ns
			       : 1;

	row->all.self_ns = (uint64_t)((double)row->self_ns * times + 0.5);
	row->all.lost_ns = (uint64_t)((double)row->lost_ns * times + 0.5);
}

static struct estimate estimate_slot(const struct query_by *by, const struct slot *s)
{
	const struct estimate counted = { .count = s->count,
					  .errors = s->errors,
					  .total_ns = s->durations.sum };

	return by->covered ? coverage_estimate(by->covered, by->w, &s->covered, &counted) : counted;
}

/* v[from..to) are one row. */
static bool put_together(struct query_by *by, const struct named *v, size_t from, size_t to)
{
	struct by_row row = v[from].row;
	struct sketch all = { 0 };
	bool good = true;

	for (size_t i = from; i < to && good; i++) {
		const struct slot *s = v[i].slot;

		good = sketch_merge(&all, &s->durations);
		row.count += s->count;
		row.errors += s->errors;
		add_estimate(&row.all, &v[i].all);
		if (i > from) {
			row.self_ns += v[i].row.self_ns;
			row.calls_self_ns += v[i].row.calls_self_ns;
			row.lost_ns += v[i].row.lost_ns;
		}
	}
	row.timed = all.count;
	row.p50_ns = sketch_quantile(&all, 0.50);
	row.p95_ns = sketch_quantile(&all, 0.95);
	row.p99_ns = sketch_quantile(&all, 0.99);
	row.max_ns = all.count ? all.max : 0;
	row.total_ns = all.sum;
	scale_times(&row);
	sketch_free(&all);
	return good && (row.count == 0 || vec_push(&by->table.rows, row));
}

static int by_total(const void *a, const void *b)
{
	const struct by_row *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->all.total_ns != y->all.total_ns)
		return x->all.total_ns > y->all.total_ns ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* The slot that shows the times of slot i: its own, or where all its calls were inside those of
 * another handle, that one. */
static size_t counted_as(const struct query_by *by, size_t i)
{
	size_t at = i;

	/* Runtime around driver, at most with a launch of another kind between them. */
	for (unsigned layers = 0; layers < 3 && !by->slots.v[at].count; layers++)
		if (by->slots.v[at].outer)
			at = by->slots.v[at].outer - 1;
	return by->slots.v[at].count ? at : i;
}

const struct by_table *query_by_rows(struct query_by *by)
{
	static const enum by_kind first[SLOTS_FIRST] = { BY_NONE, BY_UNKNOWN, BY_OTHER };
	struct by_labels labels = { by->w, by->table.key, &by->places, &by->kernels,
				    by->no_numbers };
	struct named *v = calloc(by->slots.n, sizeof(*v));
	bool good = v != NULL;

	by->table.rows.n = 0;
	if (by->steps) {
		free(v);
		return by_steps_rows(by->steps, &by->table) ? &by->table : NULL;
	}
	for (size_t i = 0; i < by->slots.n && good; i++) {
		v[i].slot = &by->slots.v[i];
		v[i].alone = !by->by_text;
		v[i].all = estimate_slot(by, v[i].slot);
		if (i < SLOTS_FIRST)
			v[i].row.kind = first[i];
		else
			good = by_label_set_row(&labels, &v[i].slot->id, &v[i].row);
		add_times(&v[counted_as(by, i)].row, &by->slots.v[i]);
	}
	if (good)
		qsort(v, by->slots.n, sizeof(*v), by_name);
	for (size_t i = 0, to; i < by->slots.n && good; i = to) {
		for (to = i + 1; to < by->slots.n && is_same_row(&v[i], &v[to]);)
			to++;
		good = put_together(by, v, i, to);
	}
	free(v);
	if (good && by->table.rows.n)
		qsort(by->table.rows.v, by->table.rows.n, sizeof(*by->table.rows.v), by_total);
	return good ? &by->table : NULL;
}
