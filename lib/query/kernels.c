/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counted by handle, put together by name when asked: a name may come after the first launch.
 */
#include "lib/query/ops_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/map.h"
#include "lib/stat/sketch.h"
#include "lib/world/kernel_names.h"

/* Beyond so many handles launches are counted together, as one kernel without a name: a hostile
 * recording is no reason to run out of memory. */
#define HANDLES_MAX 65536

struct handle {
	const struct op_def *op;
	uint32_t process;
	uint64_t func, errors;
	uint32_t name; /* which of the handle's names: as kernel_names_find */
	struct sketch durations;
	struct coverage_row covered;
};

struct query_kernels {
	struct world *w;
	VEC(struct handle) handles;
	struct map by_key; /* op, process, handle, name -> index + 1 */
	struct kernel_names names;
	size_t last;			/* index + 1: most launches come in runs */
	const struct coverage *covered; /* NULL: all of the time */
};

static uint64_t key_of(const struct handle *h)
{
	return hash_u64(h->func ^ hash_u64(h->process | (uint64_t)h->name << 32)) ^ h->op->id;
}

struct query_kernels *query_kernels_new(struct world *w)
{
	struct query_kernels *k = calloc(1, sizeof(*k));

	if (k)
		k->w = w;
	return k;
}

void query_kernels_set_coverage(struct query_kernels *k, const struct coverage *c)
{
	k->covered = c;
}

void query_kernels_free(struct query_kernels *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->handles.n; i++) {
		sketch_free(&k->handles.v[i].durations);
		coverage_row_free(&k->handles.v[i].covered);
	}
	vec_free(&k->handles);
	map_free(&k->by_key);
	kernel_names_free(&k->names);
	free(k);
}

static bool is_same_handle(const struct handle *a, const struct handle *b)
{
	return a->op == b->op && a->process == b->process && a->func == b->func &&
	       a->name == b->name;
}

static struct handle *handle_of(struct query_kernels *k, struct handle *new)
{
	uint64_t key = key_of(new), at;

	if (k->last && is_same_handle(&k->handles.v[k->last - 1], new))
		return &k->handles.v[k->last - 1];
	/* Two that share a hash: a rare thing, and the second is then counted with the first. */
	if (!map_get(&k->by_key, key, &at)) {
		if (k->handles.n >= HANDLES_MAX) {
			*new = (struct handle){ .op = new->op };
			key = new->op->id;
		}
		if (!map_get(&k->by_key, key, &at)) {
			if (!vec_push(&k->handles, *new))
				return NULL;
			at = k->handles.n;
			if (!map_put(&k->by_key, key, at))
				return NULL;
		}
	}
	k->last = at;
	return &k->handles.v[at - 1];
}

bool query_kernels_event(struct query_kernels *k, const struct event *ev, const struct op_def *op,
			 uint32_t process)
{
	struct handle new = { .op = op, .process = process }, *h;

	if (!(op->flags & OP_LAUNCH) || !event_get(ev, op, COL_FUNC, &new.func))
		return true;
	new.name = kernel_names_find(&k->names, process, new.func, ev->end_ns);
	h = handle_of(k, &new);
	if (!h)
		return false;
	h->errors += event_failed(ev->op, ev->ret);
	return sketch_add(&h->durations, ev->dur_ns) &&
	       (!k->covered ||
		coverage_count_call(k->covered, &h->covered, process, ev->op,
				    event_failed(ev->op, ev->ret), ev->end_ns, ev->dur_ns));
}

bool query_kernels_record(struct query_kernels *k, const struct record *rec)
{
	return rec->kind != RECORD_KERNEL || !REC_HAS(rec, KERNEL, func) ||
	       kernel_names_add(&k->names, k->w, &rec->u.KERNEL);
}

static int by_op_and_name(const void *a, const void *b)
{
	const struct ops_kernel *x = a, *y = b;

	if (x->op->id != y->op->id)
		return x->op->id < y->op->id ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->func < y->func ? -1 : x->func > y->func;
}

static int by_op_and_total(const void *a, const void *b)
{
	const struct ops_kernel *x = a, *y = b;

	if (x->op->id != y->op->id)
		return x->op->id < y->op->id ? -1 : 1;
	if (x->all.total_ns != y->all.total_ns)
		return x->all.total_ns > y->all.total_ns ? -1 : 1;
	return by_op_and_name(a, b);
}

/* World string of what it is called; 0: no record has it. A name may come after the launch. */
static uint32_t name_of(const struct query_kernels *k, const struct handle *h)
{
	uint32_t found =
		h->name ? h->name : kernel_names_find(&k->names, h->process, h->func, INT64_MIN);

	return kernel_names_text(&k->names, found);
}

static struct estimate estimate_handle(const struct query_kernels *k, const struct handle *h)
{
	const struct estimate counted = { .count = h->durations.count,
					  .errors = h->errors,
					  .total_ns = h->durations.sum };

	return k->covered ? coverage_estimate(k->covered, k->w, &h->covered, &counted) : counted;
}

/* The handles' rows, with their index for a moment in p50_ns. */
static bool add_handle_rows(const struct query_kernels *k, struct ops_kernels *rows)
{
	for (size_t i = 0; i < k->handles.n; i++) {
		const struct handle *h = &k->handles.v[i];
		struct ops_kernel row = { .op = h->op,
					  .name = name_of(k, h),
					  .process = h->process,
					  .func = h->func,
					  .errors = h->errors,
					  .all = estimate_handle(k, h),
					  .p50_ns = i };

		if (!vec_push(rows, row))
			return false;
	}
	return true;
}

/* Rows from..to are one kernel: the first becomes it. */
static bool put_together(const struct query_kernels *k, struct ops_kernel *v, size_t from,
			 size_t to)
{
	struct sketch all = { 0 };
	bool good = true;

	for (size_t i = from; i < to && good; i++) {
		good = sketch_merge(&all, &k->handles.v[v[i].p50_ns].durations);
		if (i > from) {
			v[from].errors += v[i].errors;
			v[from].all.is |= v[i].all.is;
			v[from].all.least |= v[i].all.least;
			v[from].all.count += v[i].all.count;
			v[from].all.errors += v[i].all.errors;
			v[from].all.total_ns += v[i].all.total_ns;
		}
		if (v[i].process != v[from].process)
			v[from].process = 0;
	}
	if (v[from].name && to - from > 1)
		v[from].func = 0;
	v[from].count = all.count;
	v[from].total_ns = all.sum;
	v[from].max_ns = all.max;
	v[from].p50_ns = sketch_quantile(&all, 0.5);
	v[from].p99_ns = sketch_quantile(&all, 0.99);
	sketch_free(&all);
	return good;
}

bool query_kernels_rows(const struct query_kernels *k, struct ops_kernels *rows)
{
	size_t n = 0;

	rows->n = 0;
	if (!add_handle_rows(k, rows))
		return false;
	if (rows->n)
		qsort(rows->v, rows->n, sizeof(*rows->v), by_op_and_name);
	for (size_t i = 0, to; i < rows->n; i = to) {
		for (to = i + 1; to < rows->n && rows->v[i].name &&
				 rows->v[to].name == rows->v[i].name &&
				 rows->v[to].op == rows->v[i].op;)
			to++;
		if (!put_together(k, rows->v, i, to))
			return false;
		rows->v[n++] = rows->v[i];
	}
	rows->n = n;
	if (n)
		qsort(rows->v, n, sizeof(*rows->v), by_op_and_total);
	return true;
}
